// What the sandbox's first process and the commands that it starts are cut off from.
#pragma once

#include "lib/base/result.h"
#include "lib/process/sandbox/command_start.h"
#include "lib/process/sandbox/sandbox_init.h"

namespace deadheat::process::sandbox {

// All descriptors that neither the request nor the body needs. Standard error stays, for last
// words.
void close_others(const InitRequest& request);

// Those that the kernel did not put init into when it made it.
Status enter_namespaces(const InitRequest& request);

CommandBounds bounds_of(const InitRequest& request);

}  // namespace deadheat::process::sandbox
