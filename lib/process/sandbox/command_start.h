// Starts a sandboxed command.
#pragma once

#include <linux/filter.h>

#include <cstdint>
#include <functional>
#include <vector>

#include "lib/base/result.h"
#include "lib/process/sandbox/sandbox.h"

namespace deadheat::process::sandbox {

// The restrictions that the child applies to itself before exec.
struct CommandBounds {
  int user_namespace = -1;          // the one that it enters
  bool ordinary_priority = false;   // even if the caller has real-time priority, or may have it
  uint64_t most_file_bytes = 0;     // in each file that it writes; 0: no limit
  bool own_mounts = false;          // and a copy of the mounts there, which it may change
  uint64_t capabilities = 0;        // that it keeps, one bit each
  std::vector<sock_filter> filter;  // for its calls; empty: none
};

Result<int> start_command(const Command& command, const CommandBounds& bounds,
                          const std::function<void()>& before_exec);

}  // namespace deadheat::process::sandbox
