#include "lib/process/sandbox/descendants.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>

namespace deadheat::process::sandbox {
namespace {

// The kernel's own list, "12 15 99 "; as much as fits: the rest comes in the next round.
void kill_children() {
  char buffer[4096];
  const int file = ::open("/proc/thread-self/children", O_RDONLY | O_CLOEXEC);
  const ssize_t size = file < 0 ? -1 : ::read(file, buffer, sizeof buffer - 1);
  if (file >= 0) ::close(file);
  if (size <= 0) return;
  buffer[size] = '\0';
  char* at = buffer;
  for (char* end = nullptr;; at = end) {
    const long pid = std::strtol(at, &end, 10);
    if (end == at || *end == '\0') return;  // a truncated number is invalid
    ::kill(static_cast<pid_t>(pid), SIGKILL);
  }
}

}  // namespace

void end_descendants() {
  for (;;) {
    kill_children();
    if (::waitpid(-1, nullptr, __WALL) < 0 && errno != EINTR) return;
  }
}

}  // namespace deadheat::process::sandbox
