// How a sandboxed command is started.
#pragma once

#include <functional>

#include "lib/base/result.h"
#include "lib/process/sandbox/sandbox.h"

namespace deadheat::process {

Result<int> start_command(const Command& command, const std::function<void()>& before_exec);

}  // namespace deadheat::process
