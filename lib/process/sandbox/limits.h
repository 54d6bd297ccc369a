// How many processes a sandbox may hold: by a control group of its own where there is one to be
// had, in a user namespace by its own process count, else by looking every few milliseconds and
// ending all of it.
#pragma once

#include <cstdint>
#include <string>

#include "lib/base/scoped_fd.h"

namespace deadheat::process {

// Made outside, before the sandbox starts. The group goes with the object; what a killed tool left
// is removed by the next one.
class ProcessLimit {
 public:
  ProcessLimit() = default;
  ProcessLimit(uint32_t most, bool user_namespace);
  ProcessLimit(ProcessLimit&&) noexcept = default;
  ProcessLimit& operator=(ProcessLimit&& other) noexcept;
  ~ProcessLimit();

  // By the sandbox's first process. False: nothing but a watch limits it.
  bool apply() const;
  bool was_reached() const;                          // only a control group says
  int descriptor() const { return members_.get(); }  // that apply() needs; -1: none

 private:
  uint32_t most_ = 0;
  bool user_namespace_ = false, counts_ = false;  // the group limits processes
  std::string group_;                             // folder of the control group
  ScopedFd members_;
};

// Processes that /proc shows. No allocation: called from a signal handler.
uint32_t count_processes();

}  // namespace deadheat::process
