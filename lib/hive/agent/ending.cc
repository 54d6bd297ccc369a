#include "lib/hive/agent/ending.h"

#include <signal.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>

namespace deadheat::hive::agent {
namespace {

// linux/pidfd.h of 6.15, which distributions do not have yet: the first published size.
struct Info {
  uint64_t mask;
  uint64_t cgroup;
  uint32_t ids[11];
  int32_t exit_code;
};
static_assert(sizeof(Info) == 64);
constexpr uint64_t kInfoExit = 1U << 3;
constexpr unsigned long kGetInfo = _IOWR(0xFF, 11, Info);

}  // namespace

Ending::Ending(pid_t process) : process_(static_cast<int>(::syscall(SYS_pidfd_open, process, 0))) {}

std::optional<int> Ending::status() const {
  if (!process_.valid()) return std::nullopt;
  Info info = {};
  info.mask = kInfoExit;
  if (::ioctl(process_.get(), kGetInfo, &info) != 0 || (info.mask & kInfoExit) == 0)
    return std::nullopt;
  return info.exit_code;
}

bool Ending::crashed() const {
  const auto ended = status();
  if (!ended || !WIFSIGNALED(*ended)) return false;
  switch (WTERMSIG(*ended)) {
    case SIGSEGV:
    case SIGBUS:
    case SIGILL:
    case SIGFPE:
    case SIGABRT:
    case SIGTRAP:
    case SIGSYS:
      return true;
    default:
      return false;
  }
}

}  // namespace deadheat::hive::agent
