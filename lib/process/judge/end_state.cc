#include "lib/process/judge/end_state.h"

#include <sys/stat.h>

#include <filesystem>
#include <set>

#include "lib/base/file.h"

namespace deadheat::process::judge {
namespace {

namespace fs = std::filesystem;

std::set<std::string> names_below(const std::string& folder) {
  std::set<std::string> names;
  std::error_code failed;
  for (fs::recursive_directory_iterator at(folder, failed), end; !failed && at != end;
       at.increment(failed))
    names.insert(fs::path(at->path()).lexically_relative(folder).string());
  return names;
}

bool same_content(const std::string& one, const std::string& other) {
  auto mine = read_file(one), theirs = read_file(other);
  return mine && theirs && *mine == *theirs;
}

bool same_file(const std::string& one, const std::string& other) {
  struct stat mine, theirs;
  if (::lstat(one.c_str(), &mine) != 0 || ::lstat(other.c_str(), &theirs) != 0) return false;
  if (mine.st_mode != theirs.st_mode || mine.st_rdev != theirs.st_rdev) return false;
  std::error_code failed;
  if (S_ISLNK(mine.st_mode))
    return fs::read_symlink(one, failed) == fs::read_symlink(other, failed);
  return !S_ISREG(mine.st_mode) || (mine.st_size == theirs.st_size && same_content(one, other));
}

}  // namespace

std::string first_difference(const std::string& one, const std::string& other) {
  if (!same_content(one + "/out", other + "/out")) return "standard output differs";
  if (!same_content(one + "/err", other + "/err")) return "standard error differs";
  const std::set<std::string> mine = names_below(one + "/upper"),
                              theirs = names_below(other + "/upper");
  for (const std::string& name : mine) {
    if (!theirs.contains(name)) return "/" + name + " is missing";
    if (!same_file(one + "/upper/" + name, other + "/upper/" + name))
      return "/" + name + " differs";
  }
  for (const std::string& name : theirs)
    if (!mine.contains(name)) return "/" + name + " is new";
  return "";
}

}  // namespace deadheat::process::judge
