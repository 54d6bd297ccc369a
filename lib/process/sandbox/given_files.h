// The files that a sandboxed command has as its streams lie outside of the sandbox: a command with
// the owner's rights can change their mode (set-user-id) and owner. This remembers both, and
// restores them when the sandbox has ended.
#pragma once

#include <sys/stat.h>

#include <vector>

#include "lib/base/scoped_fd.h"

namespace deadheat::process::sandbox {

class GivenFiles {
 public:
  GivenFiles() = default;
  // Pipes and sockets are left out: holding them would keep the other end waiting.
  explicit GivenFiles(const std::vector<int>& descriptors);
  void restore();

 private:
  struct Given {
    ScopedFd file;
    struct stat before;
  };
  std::vector<Given> all_;
};

}  // namespace deadheat::process::sandbox
