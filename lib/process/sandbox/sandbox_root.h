// The file system that a sandboxed command sees: an overlay over every real mount of the machine,
// and its own /proc, /dev and /sys. The sandbox's first process builds it in its own mount
// namespace.
//
// Invariant: nothing below the new root leads to a writable file of the machine, to its devices
// other than the harmless ones, or to its sockets (an overlay's socket is a different inode from
// the one that a server listens on).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "lib/base/result.h"
#include "lib/base/scoped_fd.h"
#include "lib/process/sandbox/upper_folder.h"

namespace deadheat::process::sandbox {

struct RootRequest {
  bool user_namespace =
      false;  // without root: `user.` attributes, and folders that hold mounts are made anew
  bool own_network = true;
  bool setuid = false;  // set-user-id programs get their rights
  std::string scratch;  // for changed files; empty: a tmpfs
  std::vector<std::string> layers;
  uint64_t most_bytes = 0;
};

struct SandboxRoot {
  std::vector<UpperFolder> uppers;
  ScopedFd last_pid;                  // of the new /proc: ns_last_pid
  std::vector<std::string> problems;  // what could not be isolated
};

// Makes it the root of the calling process. Afterwards nothing of the old tree can be reached by
// name.
Result<SandboxRoot> enter_new_root(const RootRequest& request);

// For a command that changes the real files: only /proc is new.
Result<SandboxRoot> enter_own_proc();

}  // namespace deadheat::process::sandbox
