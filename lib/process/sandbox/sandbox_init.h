// The sandbox's first process: its work before and after the body.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <string>

#include "lib/process/sandbox/command_namespaces.h"
#include "lib/process/sandbox/limits.h"
#include "lib/process/sandbox/sandbox.h"

namespace deadheat::process::sandbox {

// A page shared by the tool and init.
struct InitReport {
  std::atomic<bool> complete{false};  // the body returned, and its bytes are written
  std::atomic<bool> timed_out{false};
  std::atomic<bool> too_many{false};  // processes; the watch ended it
  std::atomic<int> kept{0};           // errno of storing the changed files
};

struct InitRequest {
  const SandboxOptions* options = nullptr;
  const ResourceLimits* limit = nullptr;
  InitReport* report = nullptr;
  const CommandNamespaces* of_command = nullptr;  // none: the command is in init's own
  bool namespaces = true;
  bool user_namespace = false;
  uid_t user = 0;  // outside
  gid_t group = 0;
  std::string scratch;  // of this sandbox only
  int alive = -1;       // a pipe that closes when the tool ends
  int ready = -1;       // "K" and the problems, one line each; or "E", message, NUL, hint
  int bytes = -1;       // file for what the body returns
};

[[noreturn]] void run_init(const InitRequest& request, const Sandbox::Body& body);

}  // namespace deadheat::process::sandbox
