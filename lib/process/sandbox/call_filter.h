// The seccomp filter of a sandboxed command: forbidden_calls.def, namespaces, sockets outside
// network namespaces, input into a terminal. Everything else is allowed; a forbidden call fails
// with EPERM, so that a program that does not need it continues.
//
// The filter never depends on a tracer: a filter that asks one makes calls fail once the tracer
// detaches, and a run that goes live does exactly that.
#pragma once

#include <linux/filter.h>

#include <vector>

#include "lib/base/result.h"
#include "lib/process/sandbox/permissions.h"

namespace deadheat::process::sandbox {

// clone3 passes its flags in memory, invisible to filters: unless namespaces are allowed, it fails
// with ENOSYS, and libraries use clone. This applies on every machine, even where the user
// namespace alone would suffice, because a recording made on one machine is replayed on another and
// must make the same calls there.
std::vector<sock_filter> compile(const Permissions& allow);

// Applies to the calling process and its children, permanently. Needs CAP_SYS_ADMIN in the user
// namespace. Async-signal-safe, apart from what compile() allocates.
Status install(const std::vector<sock_filter>& program);

}  // namespace deadheat::process::sandbox
