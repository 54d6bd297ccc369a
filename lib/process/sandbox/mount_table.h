// Which of the machine's mounts a sandbox has to cover.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace deadheat::process::sandbox {

struct HostMount {
  uint64_t id = 0;
  std::string point;  // absolute, unescaped
  std::string type;   // "ext4"
  friend bool operator==(const HostMount&, const HostMount&) = default;
};

// The text of /proc/self/mountinfo; lines that do not look like one are left out.
std::vector<HostMount> parse_mount_table(std::string_view text);

// Those that hold files of the user: neither kernel interfaces by type, nor anything at or below
// /proc, /sys and /dev, which a sandbox has its own of. Sorted: a mount comes after those that it
// lies in.
std::vector<HostMount> real_mounts(const std::vector<HostMount>& all);

// Mounts that another one covers cannot be reached by name; this leaves them out.
std::vector<HostMount> visible_mounts(const std::vector<HostMount>& all);

// "path" is `folder` or lies in it.
bool lies_in(std::string_view path, std::string_view folder);

}  // namespace deadheat::process::sandbox
