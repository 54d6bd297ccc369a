// Finds the machine's mounts that a sandbox has to cover.
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

// Parses the text of /proc/self/mountinfo; malformed lines are skipped.
std::vector<HostMount> parse_mount_table(std::string_view text);

// The mounts that hold the user's files: neither kernel interfaces by type, nor anything at or
// below /proc, /sys and /dev, which a sandbox replaces. Sorted: a mount comes after those that
// contain it.
std::vector<HostMount> real_mounts(const std::vector<HostMount>& all);

// Drops mounts that another one covers, since they cannot be reached by name.
std::vector<HostMount> visible_mounts(const std::vector<HostMount>& all);

// Whether `path` is `folder` or is inside it.
bool lies_in(std::string_view path, std::string_view folder);

}  // namespace deadheat::process::sandbox
