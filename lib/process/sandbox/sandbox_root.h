// The file system that a sandboxed command sees: an overlay over every real mount of the machine,
// its own /proc, /dev and /sys. Built by the sandbox's first process in a mount namespace of its
// own.
//
// Invariant: below the new root nothing leads to a writable file of the machine, to its devices
// other than the harmless ones, or to its sockets (an overlay's socket is another inode than the
// one that a server listens on).
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
  bool setuid = false;  // programs that have more rights than their user get them
  std::string scratch;  // for changed files; empty: a tmpfs
  std::vector<std::string> layers;
  uint64_t most_bytes = 0;
};

struct SandboxRoot {
  std::vector<UpperFolder> uppers;
  ScopedFd last_pid;                  // of the new /proc: ns_last_pid
  std::vector<std::string> problems;  // what could not be isolated
};

// Makes it the root of the calling process. Nothing of the old tree can be reached by name
// afterwards.
Result<SandboxRoot> enter_new_root(const RootRequest& request);

// For a command that is to change the real files: only /proc is new.
Result<SandboxRoot> enter_own_proc();

}  // namespace deadheat::process::sandbox
