// The seccomp filter of a sandboxed command: forbidden_calls.def, namespaces, sockets that know no
// network namespace, input into a terminal. Everything else is allowed; a forbidden call fails with
// EPERM, so that a program that can do without goes on.
//
// No answer of it depends on a tracer: a filter that asks one makes calls fail once the tracer lets
// go, and a run that goes live does exactly that.
#pragma once

#include <linux/filter.h>

#include <vector>

#include "lib/base/result.h"
#include "lib/process/sandbox/permissions.h"

namespace deadheat::process::sandbox {

// clone3 passes its flags in memory, where no filter sees them: unless namespaces are allowed, the
// command is told that it does not exist, and libraries use clone. That is so on every machine,
// also where the user namespace alone would hold, because a recording made on one is replayed on
// another and must make the same calls there.
std::vector<sock_filter> compile(const Permissions& allow);

// For the calling process and its children, for good. Needs CAP_SYS_ADMIN in the user namespace.
// Async-signal-safe, apart from what compile() allocates.
Status install(const std::vector<sock_filter>& program);

}  // namespace deadheat::process::sandbox
