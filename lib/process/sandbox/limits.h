// Limits the number of a sandbox's processes and their memory.
//
// Processes: by a control group if one is available, in a user namespace by its own process count,
// otherwise by checking every few milliseconds and ending the whole sandbox. Memory: by a control
// group, otherwise per process (RLIMIT_DATA), which several processes together can exceed.
#pragma once

#include <sys/resource.h>

#include <cstdint>
#include <string>

#include "lib/base/scoped_fd.h"

namespace deadheat::process::sandbox {

struct Bounds {
  uint32_t processes = 0;  // 0: none
  uint64_t memory = 0;     // bytes; 0: half of the machine's
};

// Soft and hard limit of the caller, never above its present hard limit. False: the kernel refused.
bool lower_limit(__rlimit_resource what, uint64_t most);

// A control group created below the caller's own. It is removed with the object; the next tool
// removes one that a killed tool left behind.
class ControlGroup {
 public:
  ControlGroup() = default;
  // `controller` has its version 1 name. If none is available, the object is not valid().
  explicit ControlGroup(std::string_view controller);
  ControlGroup(ControlGroup&& other) noexcept { *this = std::move(other); }
  ControlGroup& operator=(ControlGroup&& other) noexcept;
  ~ControlGroup();

  bool valid() const { return members_.valid(); }
  int descriptor() const { return members_.get(); }
  bool set(const char* file, uint64_t value) const;
  // The number after `key` in `file`; 0 if absent.
  uint64_t count(const char* file, std::string_view key) const;
  bool enter() const;  // the caller

 private:
  std::string folder_;
  ScopedFd members_;
};

// Made outside, before the sandbox starts.
class ResourceLimits {
 public:
  ResourceLimits() = default;
  ResourceLimits(const Bounds& bounds, bool user_namespace);

  // Called by the sandbox's first process. False: only a watch limits its processes.
  bool apply() const;
  // Only control groups report this.
  bool processes_reached() const;
  bool memory_reached() const;
  uint64_t memory() const { return bounds_.memory; }
  // Required by apply(); -1: none.
  int process_group() const { return processes_.descriptor(); }
  int memory_group() const { return memory_.descriptor(); }

 private:
  Bounds bounds_;
  bool user_namespace_ = false, counts_processes_ = false, counts_memory_ = false;
  ControlGroup processes_, memory_;
};

// The number of processes in /proc. No allocation: called from a signal handler.
uint32_t count_processes();

}  // namespace deadheat::process::sandbox
