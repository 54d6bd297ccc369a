#include "lib/process/sandbox/mount_table.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <charconv>

#include "lib/base/text.h"

namespace deadheat::process::sandbox {
namespace {

// The kernel's own interfaces. Other types are treated as files: a failing overlay is reported.
constexpr std::array<std::string_view, 22> kKernelTypes = {
    "autofs",    "binfmt_misc", "bpf",      "cgroup",   "cgroup2", "configfs",
    "debugfs",   "devpts",      "devtmpfs", "efivarfs", "fusectl", "hugetlbfs",
    "mqueue",    "nsfs",        "proc",     "pstore",   "resctrl", "rpc_pipefs",
    "selinuxfs", "securityfs",  "sysfs",    "tracefs"};

// The kernel writes blanks and backslashes as \040.
std::string unescape(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    unsigned code = 0;
    if (text[i] == '\\' && i + 3 < text.size() &&
        std::from_chars(&text[i + 1], &text[i + 4], code, 8).ptr == &text[i + 4]) {
      out += static_cast<char>(code);
      i += 3;
    } else {
      out += text[i];
    }
  }
  return out;
}

}  // namespace

bool lies_in(std::string_view path, std::string_view folder) {
  if (folder == "/") return path.starts_with('/');
  return path.starts_with(folder) && (path.size() == folder.size() || path[folder.size()] == '/');
}

std::vector<HostMount> parse_mount_table(std::string_view text) {
  std::vector<HostMount> all;
  for (const std::string_view line : split(text, '\n')) {
    const std::vector<std::string_view> words = split(line, ' ');
    const auto dash = std::find(words.begin(), words.end(), "-");
    if (words.size() < 6 || dash == words.end() || dash + 1 == words.end()) continue;
    HostMount mount;
    const std::string_view id = words[0];
    if (std::from_chars(id.data(), id.data() + id.size(), mount.id).ec != std::errc{}) continue;
    mount.point = unescape(words[4]);
    mount.type = *(dash + 1);
    if (mount.point.starts_with('/')) all.push_back(std::move(mount));
  }
  return all;
}

std::vector<HostMount> real_mounts(const std::vector<HostMount>& all) {
  std::vector<HostMount> real;
  for (const HostMount& mount : all) {
    const bool own = lies_in(mount.point, "/proc") || lies_in(mount.point, "/sys") ||
                     lies_in(mount.point, "/dev");
    const bool kernel =
        std::find(kKernelTypes.begin(), kKernelTypes.end(), mount.type) != kKernelTypes.end();
    if (!own && (!kernel || mount.point == "/")) real.push_back(mount);
  }
  std::sort(real.begin(), real.end(),
            [](const HostMount& a, const HostMount& b) { return a.point < b.point; });
  return real;
}

std::vector<HostMount> visible_mounts(const std::vector<HostMount>& all) {
  std::vector<HostMount> visible;
  for (const HostMount& mount : all) {
    struct statx seen = {};
    const int flags = AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT;
    if (::statx(AT_FDCWD, mount.point.c_str(), flags, STATX_MNT_ID, &seen) != 0) continue;
    // Kernels before 5.8 do not report the id: then the later of two mounts at one point wins.
    if ((seen.stx_mask & STATX_MNT_ID) != 0 && seen.stx_mnt_id != mount.id) continue;
    std::erase_if(visible, [&](const HostMount& other) { return other.point == mount.point; });
    visible.push_back(mount);
  }
  return visible;
}

}  // namespace deadheat::process::sandbox
