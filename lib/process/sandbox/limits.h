// How many processes a sandbox may hold and how much memory they may use.
//
// Processes: by a control group of its own where there is one to be had, in a user namespace by its
// own process count, else by looking every few milliseconds and ending all of it. Memory: by a
// control group; else each process for itself (RLIMIT_DATA), which several together can pass.
#pragma once

#include <cstdint>
#include <string>

#include "lib/base/scoped_fd.h"

namespace deadheat::process::sandbox {

struct Bounds {
  uint32_t processes = 0;  // 0: none
  uint64_t memory = 0;     // bytes; 0: half of the machine's
};

// A control group that was made below the caller's own. It goes with the object; what a killed tool
// left is removed by the next one.
class ControlGroup {
 public:
  ControlGroup() = default;
  // `controller` as the first version of groups names it. Without one to be had, it is not valid().
  explicit ControlGroup(std::string_view controller);
  ControlGroup(ControlGroup&& other) noexcept { *this = std::move(other); }
  ControlGroup& operator=(ControlGroup&& other) noexcept;
  ~ControlGroup();

  bool valid() const { return members_.valid(); }
  int descriptor() const { return members_.get(); }
  bool set(const char* file, uint64_t value) const;
  // The number after `key` in `file`; 0: none.
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

  // By the sandbox's first process. False: nothing but a watch limits its processes.
  bool apply() const;
  // Only control groups say.
  bool processes_reached() const;
  bool memory_reached() const;
  uint64_t memory() const { return bounds_.memory; }
  // That apply() needs; -1: none.
  int process_group() const { return processes_.descriptor(); }
  int memory_group() const { return memory_.descriptor(); }

 private:
  Bounds bounds_;
  bool user_namespace_ = false, counts_processes_ = false, counts_memory_ = false;
  ControlGroup processes_, memory_;
};

// Processes that /proc shows. No allocation: called from a signal handler.
uint32_t count_processes();

}  // namespace deadheat::process::sandbox
