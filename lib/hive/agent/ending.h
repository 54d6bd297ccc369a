// How a process that is not our child ended. Only Linux 6.15 and later report this to a process
// other than the parent (PIDFD_GET_INFO); before that nothing is known, and nothing is claimed.
#pragma once

#include <sys/types.h>

#include <optional>

#include "lib/base/scoped_fd.h"

namespace deadheat::hive::agent {

class Ending {
 public:
  Ending() = default;
  // Before the process ends.
  explicit Ending(pid_t process);
  // As from waitpid; nothing while it runs, or if the kernel does not tell.
  std::optional<int> status() const;
  // It died by its own fault: a signal that means a broken invariant, not one that is sent to end
  // it.
  bool crashed() const;

 private:
  ScopedFd process_;
};

}  // namespace deadheat::hive::agent
