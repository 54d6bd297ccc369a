// How a sandboxed command is started.
#pragma once

#include <linux/filter.h>

#include <cstdint>
#include <functional>
#include <vector>

#include "lib/base/result.h"
#include "lib/process/sandbox/sandbox.h"

namespace deadheat::process::sandbox {

// What becomes of the child's rights before it executes.
struct CommandBounds {
  int user_namespace = -1;          // it enters that one
  bool own_mounts = false;          // and there a copy of the mounts, which it may change
  uint64_t capabilities = 0;        // that it keeps, a bit each
  std::vector<sock_filter> filter;  // of its calls; empty: none
};

Result<int> start_command(const Command& command, const CommandBounds& bounds,
                          const std::function<void()>& before_exec);

}  // namespace deadheat::process::sandbox
