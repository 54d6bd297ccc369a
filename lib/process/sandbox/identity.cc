#include "lib/process/sandbox/identity.h"

#include <fcntl.h>
#include <linux/capability.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <vector>

#include "lib/base/file.h"
#include "lib/base/scoped_fd.h"
#include "lib/base/text.h"

namespace deadheat::process::sandbox {
namespace {

constexpr char kStillWorks[] = "; what works: as root, or --in-place (changes the real files)";

Status write_once(const char* path, const std::string& text) {
  const ScopedFd file(::open(path, O_WRONLY | O_CLOEXEC));
  if (!file.valid() || ::write(file.get(), text.data(), text.size()) < 0)
    return Error{std::string("cannot write ") + path + ": " + std::strerror(errno),
                 user_namespace_obstacle()};
  return Ok{};
}

bool setting_is(const char* path, std::string_view value) {
  const auto text = read_file(path);
  return text && trim(text.value()) == value;
}

// Root of a user namespace (rootless containers) is not root for other users' files.
bool in_first_user_namespace() {
  const auto map = read_file("/proc/self/uid_map");
  if (!map) return true;  // a kernel without user namespaces
  std::vector<std::string_view> words = split(trim(map.value()), ' ');
  std::erase(words, "");
  return words == std::vector<std::string_view>{"0", "0", "4294967295"};
}

}  // namespace

bool may_mount() {
  __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
  std::array<__user_cap_data_struct, 2> data = {};
  if (::geteuid() != 0 || ::syscall(SYS_capget, &header, data.data()) != 0) return false;
  return (data[0].effective & (1U << CAP_SYS_ADMIN)) != 0 && in_first_user_namespace();
}

Status map_own_identity(uid_t user, gid_t group) {
  const std::string users = std::to_string(user), groups = std::to_string(group);
  ::prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);  // a tool that changed its user could not open these files
  if (Status done = write_once("/proc/self/setgroups", "deny"); !done) return done;
  if (Status done = write_once("/proc/self/uid_map", users + " " + users + " 1\n"); !done)
    return done;
  return write_once("/proc/self/gid_map", groups + " " + groups + " 1\n");
}

std::string user_namespace_obstacle() {
  if (setting_is("/proc/sys/user/max_user_namespaces", "0"))
    return "sysctl user.max_user_namespaces is 0";
  if (setting_is("/proc/sys/kernel/unprivileged_userns_clone", "0"))
    return "sysctl kernel.unprivileged_userns_clone is 0";
  if (setting_is("/proc/sys/kernel/apparmor_restrict_unprivileged_userns", "1"))
    return "sysctl kernel.apparmor_restrict_unprivileged_userns is 1";
  return "";
}

Error namespaces_error(int error_number, bool user_namespace) {
  const std::string why = std::strerror(error_number);
  if (!user_namespace)
    return {"cannot make namespaces: " + why,
            "a container needs --privileged for this; --in-place works without (changes the real "
            "files)"};
  const std::string obstacle = user_namespace_obstacle();
  return {"cannot make a user namespace: " + why,
          (obstacle.empty() ? "this machine or container does not allow users to make namespaces"
                            : obstacle) +
              kStillWorks};
}

}  // namespace deadheat::process::sandbox
