// How a process of somebody else ended. Only Linux 6.15 and later tell that to one who is not its
// parent (PIDFD_GET_INFO); before that nothing is known, and nothing is claimed.
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
  // As from waitpid; nothing while it runs, or where the kernel does not tell.
  std::optional<int> status() const;
  // It died of its own doing: a signal that means a broken invariant, not one that somebody sends
  // to end it.
  bool crashed() const;

 private:
  ScopedFd process_;
};

}  // namespace deadheat::hive::agent
