// fork() with namespaces.
#pragma once

#include <linux/sched.h>
#include <sched.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

#include <cstdint>

namespace deadheat::process::sandbox {

// The library's fork cannot do this. Its locks are safe because the tool forks from its only
// thread. Returns like fork; `handle` receives the child's pidfd.
inline pid_t fork_into(uint64_t flags, int& handle) {
  clone_args arguments = {};
  arguments.flags = flags | CLONE_PIDFD;
  arguments.pidfd = reinterpret_cast<uint64_t>(&handle);
  arguments.exit_signal = SIGCHLD;
  return static_cast<pid_t>(::syscall(SYS_clone3, &arguments, sizeof arguments));
}

}  // namespace deadheat::process::sandbox
