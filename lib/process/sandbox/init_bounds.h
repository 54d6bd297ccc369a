// The restrictions of the sandbox's first process and of the commands that it starts.
#pragma once

#include "lib/base/result.h"
#include "lib/process/sandbox/command_start.h"
#include "lib/process/sandbox/sandbox_init.h"

namespace deadheat::process::sandbox {

// All descriptors that neither the request nor the body needs. Standard error stays open for final
// messages.
void close_others(const InitRequest& request);

// The namespaces into which the kernel did not put init at its creation.
Status enter_namespaces(const InitRequest& request);

CommandBounds bounds_of(const InitRequest& request);

}  // namespace deadheat::process::sandbox
