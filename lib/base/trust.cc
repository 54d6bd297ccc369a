#include "lib/base/trust.h"

#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>

namespace deadheat {
namespace {

std::string user_name(uid_t user) {
  passwd entry{};
  passwd* found = nullptr;
  std::array<char, 4096> buffer{};
  if (::getpwuid_r(user, &entry, buffer.data(), buffer.size(), &found) == 0 && found != nullptr)
    return "user " + std::string(found->pw_name);
  return "user " + std::to_string(user);
}

bool is_mine(uid_t user) {
  if (user == ::geteuid() || user == 0) return true;
  // In a user namespace root may have no number: whoever owns "/" is as good as root.
  struct stat top{};
  return ::stat("/", &top) == 0 && top.st_uid == user;
}

bool others_may_write(const struct stat& info) {
  if ((info.st_mode & S_IWOTH) != 0) return true;
  // Where each user has a group of his own, files are writable by it as a matter of course.
  const bool own_group = info.st_gid == ::getegid() || info.st_gid == 0;
  return (info.st_mode & S_IWGRP) != 0 && !own_group;
}

}  // namespace

std::string distrust(const std::string& path) {
  std::error_code error;
  const std::filesystem::path real = std::filesystem::canonical(path, error);
  if (error) return "cannot be looked at: " + error.message();
  struct stat info{};
  if (::lstat(real.c_str(), &info) != 0)
    return std::string("cannot be looked at: ") + std::strerror(errno);
  if (!is_mine(info.st_uid)) return "belongs to " + user_name(info.st_uid);
  if (others_may_write(info)) return "can be written by others";
  for (std::filesystem::path at = real; at.has_relative_path();) {
    at = at.parent_path();
    if (::lstat(at.c_str(), &info) != 0) return "lies in a folder that cannot be looked at";
    if (!is_mine(info.st_uid))
      return "lies in " + at.string() + ", which belongs to " + user_name(info.st_uid);
    if (others_may_write(info) && (info.st_mode & S_ISVTX) == 0)
      return "lies in " + at.string() + ", where others may write";
  }
  return {};
}

}  // namespace deadheat
