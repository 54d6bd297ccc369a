#include "lib/base/trust.h"

#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string_view>

#include "lib/base/text.h"

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
  // In a user namespace root may be unmapped: trust the owner of "/" like root.
  struct stat top{};
  return ::stat("/", &top) == 0 && top.st_uid == user;
}

bool others_may_write(const struct stat& info) {
  if ((info.st_mode & S_IWOTH) != 0) return true;
  // Where every user has a private group, files are commonly writable by that group.
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

namespace {

namespace fs = std::filesystem;

bool is_file(const std::string& path) {
  std::error_code error;
  return fs::is_regular_file(path, error);
}

// The file that a shell runs for `name`; empty if there is none.
std::string in_path(const std::string& name) {
  if (name.find('/') != std::string::npos) return is_file(name) ? name : "";
  const char* path = std::getenv("PATH");
  for (const std::string_view folder : split(path == nullptr ? "" : path, ':')) {
    const std::string there = std::string(folder.empty() ? "." : folder) + "/" + name;
    if (is_file(there) && ::access(there.c_str(), X_OK) == 0) return there;
  }
  return is_file(name) ? name : "";
}

bool is_interpreter(const std::string& program) {
  const std::string name = fs::path(program).filename().string();
  for (const std::string_view one : {"sh", "bash", "dash", "zsh", "ksh", "env", "node", "awk"})
    if (name == one) return true;
  return name.starts_with("python") || name.starts_with("perl") || name.starts_with("ruby");
}

}  // namespace

Status check_checker(const std::string& command) {
  bool first = true, script_follows = false;
  for (const std::string_view part : split(command, ' ')) {
    const std::string word(trim(part));
    if (word.empty()) continue;
    const std::string path = first ? in_path(word) : is_file(word) ? word : "";
    const bool code =
        !path.empty() && (first || script_follows || ::access(path.c_str(), X_OK) == 0);
    if (first)
      script_follows = is_interpreter(word);
    else if (code)
      script_follows = false;
    first = false;
    if (!code) continue;
    if (const std::string why = distrust(path); !why.empty())
      return Error{"the checker " + path + " " + why + ": it is not run with your rights",
                   "copy it to a folder that only you may write"};
  }
  return Ok{};
}

}  // namespace deadheat
