// Ways out that need no path and no right: through what the kernel shares among everybody who runs
// on the machine. Modules that it loads on demand, registers of devices, counts of a user,
// priorities by user, and what the caller's own limits would allow.
#include <dirent.h>
#include <linux/netlink.h>
#include <netinet/in.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdio>
#include <string>

#include "tests/process/escape_probe.h"

namespace escape {
namespace {

constexpr int kGsmDiscipline = 21, kOfUser = 3;  // N_GSM0710, IOPRIO_WHO_USER
constexpr int kDccp = 33, kL2tp = 115, kSctp = 132, kSmc = 256;
constexpr unsigned long kBridges = 0x8940, kVirtualNetworks = 0x8982;  // SIOCGIFBR, SIOCGIFVLAN

// The kernel has looked for it, and would have loaded its module, unless it says EPERM.
Outcome asks_kernel(long result, const std::string& what) {
  return result < 0 && errno == EPERM ? stopped(error_name(errno)) : reached(what);
}

Outcome first_of(const std::vector<Outcome>& all) {
  for (const Outcome& one : all)
    if (one.reached) return one;
  return all.front();
}

Outcome line_discipline() {
  const int terminal = ::open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC);
  if (terminal < 0) return stopped(error_name(errno));
  return asks_kernel(::ioctl(terminal, TIOCSETD, &kGsmDiscipline), "a line discipline");
}

Outcome rare_protocols() {
  std::vector<Outcome> all;
  for (const int family : {AF_INET, AF_INET6})
    for (const int protocol : {kDccp, kL2tp, kSctp, kSmc})
      all.push_back(asks_kernel(::socket(family, SOCK_STREAM | SOCK_CLOEXEC, protocol),
                                "protocol " + std::to_string(protocol)));
  return first_of(all);
}

Outcome rare_netlink() {
  std::vector<Outcome> all;
  for (const int protocol : {NETLINK_CRYPTO, NETLINK_RDMA, NETLINK_ISCSI, NETLINK_XFRM,
                             NETLINK_GENERIC, NETLINK_NETFILTER})
    all.push_back(asks_kernel(::socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, protocol),
                              "netlink protocol " + std::to_string(protocol)));
  return first_of(all);
}

Outcome drivers_of_network() {
  const int socket = ::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  unsigned long request[3] = {};
  return first_of({asks_kernel(::ioctl(socket, kBridges, request), "bridges"),
                   asks_kernel(::ioctl(socket, kVirtualNetworks, request), "virtual networks")});
}

// Registers that change when they are read, on some devices.
Outcome mapped_registers(const std::string& folder, int levels) {
  DIR* entries = ::opendir(folder.c_str());
  if (entries == nullptr) return stopped(error_name(errno));
  Outcome found = stopped("no file leads to them");
  while (const dirent* entry = ::readdir(entries)) {
    const std::string name = entry->d_name, path = folder + "/" + name;
    if (name[0] == '.') continue;
    if (entry->d_type == DT_DIR && levels > 0) {
      const Outcome below = mapped_registers(path, levels - 1);
      if (below.reached) found = below;
    } else if (name == "rom" ||
               (name.starts_with("resource") && name.size() > 8 && name[8] <= '9')) {
      const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
      struct stat info = {};
      if (file >= 0 && ::fstat(file, &info) == 0 && S_ISREG(info.st_mode))
        found = reached(path + " is open");
      ::close(file);
    }
    if (found.reached) break;
  }
  ::closedir(entries);
  return found;
}

// By user instead of by number: process 1 has the command's user.
Outcome priority_by_user() {
  const auto user = static_cast<id_t>(::getuid());
  errno = 0;
  return first_of(
      {call(::setpriority(PRIO_USER, user, 19), "the priority of process 1"),
       call(::setpriority(PRIO_USER, 0, 19), "the priority of process 1"),
       call(::syscall(SYS_ioprio_set, kOfUser, user, 3 << 13), "the disk priority of process 1")});
}

int number_in(const char* path) {
  int number = 0;
  std::FILE* file = std::fopen(path, "re");
  if (file == nullptr) return 0;
  if (std::fscanf(file, "%d", &number) != 1) number = 0;
  std::fclose(file);
  return number;
}

// They are counted for the user, and in every namespace above as well. Only the limits are looked
// at: the kernel takes a tenth of a second to close an instance, and there are 128.
Outcome all_inotify_instances() {
  const int most = number_in("/proc/sys/fs/inotify/max_user_instances");
  const int here = number_in("/proc/sys/user/max_inotify_instances");
  if (most == 0 || here == 0) return stopped("no such limit");
  const std::string text = std::to_string(here) + " of " + std::to_string(most);
  return here > most / 2 ? reached(text) : stopped(text);
}

Outcome real_time_by_limit() {
  sched_param wanted = {};
  wanted.sched_priority = 1;
  errno = 0;
  return first_of({call(::sched_setscheduler(0, SCHED_RR, &wanted), "real-time priority"),
                   call(::setpriority(PRIO_PROCESS, 0, -19), "a higher priority")});
}

Outcome inherited_policy() {
  const int policy = ::sched_getscheduler(0);
  return policy == SCHED_FIFO || policy == SCHED_RR ? reached("a real-time policy")
                                                    : stopped("an ordinary policy");
}

}  // namespace

std::vector<Try> tries_at_what_is_shared() {
  return {
      {"modules for line disciplines", line_discipline},
      {"modules for rare protocols", rare_protocols},
      {"modules for rare netlink protocols", rare_netlink},
      {"modules for bridges and virtual networks", drivers_of_network},
      {"registers of devices", [] { return mapped_registers("/sys/devices", 6); }},
      {"priority of process 1 by user", priority_by_user},
      {"all inotify instances of the user", all_inotify_instances},
      {"real-time priority by the caller's limits", real_time_by_limit},
      {"the caller's real-time policy", inherited_policy},
  };
}

}  // namespace escape
