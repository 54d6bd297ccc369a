#include "lib/process/recording/recording_check.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <filesystem>
#include <string_view>

#include "lib/base/file.h"
#include "lib/base/scoped_fd.h"
#include "lib/base/trust.h"

namespace deadheat::process::recording {
namespace {

namespace fs = std::filesystem;

constexpr int kMostDepth = 200;
constexpr char kHint[] = "look at what is in it; a recording that deadheat made has no such thing";

// What the recorded command's own files may be: anything that is only shown inside the sandbox.
enum class Of : uint8_t { kTool, kCheckpoint, kUpper };

// Never leaves `folder`, whatever a name in it is or meanwhile becomes.
int open_beneath(int folder, const char* name) {
  open_how how = {};
  how.flags = O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW;
  how.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS;
  const long fd = ::syscall(SYS_openat2, folder, name, &how, sizeof how);
  if (fd >= 0 || errno != ENOSYS) return static_cast<int>(fd);
  return ::openat(folder, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
}

// The recording of a branch shares these with the recording that it belongs to, three folders up.
bool is_shared(const fs::path& path, int folder, const char* name) {
  constexpr std::array<std::string_view, 3> kShared = {"stdin", "checkpoint", "checkpoint.json"};
  if (std::find(kShared.begin(), kShared.end(), name) == kShared.end()) return false;
  const fs::path run = path.parent_path();
  if (path.filename() != "recording" || run.parent_path().filename() != "branches") return false;
  std::array<char, PATH_MAX> target = {};
  const ssize_t size = ::readlinkat(folder, name, target.data(), target.size() - 1);
  return size > 0 && std::string("../../../") + name == target.data();
}

std::string kind_problem(const struct stat& info, Of of) {
  if (S_ISDIR(info.st_mode)) return {};
  if (S_ISREG(info.st_mode)) {
    if (of == Of::kUpper || (info.st_mode & (S_ISUID | S_ISGID)) == 0) return {};
    return "has the rights of its owner (set-user-id)";
  }
  if (S_ISLNK(info.st_mode)) return of == Of::kTool ? "is a link" : "";
  // An overlay's mark for a removed file.
  const bool whiteout = S_ISCHR(info.st_mode) && info.st_rdev == makedev(0, 0);
  const bool special = S_ISFIFO(info.st_mode) || S_ISSOCK(info.st_mode);
  if (of == Of::kUpper && (whiteout || special)) return {};
  return special ? "is a pipe or a socket" : "is a device";
}

Status check_folder(int folder, const fs::path& path, Of of, int depth) {
  if (depth > kMostDepth) return Error{path.string() + " is too deep for a recording", kHint};
  DIR* const all = ::fdopendir(::openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (all == nullptr) return errno_error("cannot read", path.string(), errno);
  Status status = Ok{};
  while (const dirent* entry = status ? ::readdir(all) : nullptr) {
    const std::string_view name = entry->d_name;
    if (name == "." || name == "..") continue;
    const fs::path at = path / name;
    struct stat info = {};
    if (::fstatat(folder, entry->d_name, &info, AT_SYMLINK_NOFOLLOW) != 0) continue;
    const std::string problem = kind_problem(info, of);
    if (!problem.empty() && !(S_ISLNK(info.st_mode) && is_shared(path, folder, entry->d_name))) {
      status = Error{at.string() + " " + problem + ": this recording is not used", kHint};
    } else if (S_ISDIR(info.st_mode)) {
      const Of inner = of != Of::kTool        ? of
                       : name == "checkpoint" ? Of::kCheckpoint
                       : name == "upper"      ? Of::kUpper
                                              : Of::kTool;
      const ScopedFd next(open_beneath(folder, entry->d_name));
      // What the command made may be closed even to its owner; then nobody here reads it either.
      if (next.valid())
        status = check_folder(next.get(), at, inner, depth + 1);
      else if (inner != Of::kUpper)
        status = errno_error("cannot read", at.string(), errno);
    }
  }
  ::closedir(all);
  return status;
}

// The recording of a branch is inside the recording that it belongs to.
fs::path outermost(fs::path folder) {
  while (folder.filename() == "recording" &&
         folder.parent_path().parent_path().filename() == "branches")
    folder = folder.parent_path().parent_path().parent_path();
  return folder;
}

Result<fs::path> whole(const std::string& folder) {
  std::error_code error;
  const fs::path real = fs::canonical(folder, error);
  if (error) return errno_error("cannot open", folder, error.value());
  return outermost(real);
}

}  // namespace

Status check_recording(const std::string& folder) {
  const auto all = whole(folder);
  if (!all) return all.error();
  const ScopedFd top(::open(all.value().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW));
  if (!top.valid()) return errno_error("cannot open", all.value().string(), errno);
  return check_folder(top.get(), all.value(), Of::kTool, 0);
}

Status check_own_recording(const std::string& folder) {
  const auto all = whole(folder);
  if (!all) return all.error();
  if (const std::string why = distrust(all.value().string()); !why.empty())
    return Error{all.value().string() + " " + why + ": it is not run, since that writes into it",
                 "make a copy that only you may write: cp -r " + all.value().string() + " COPY"};
  return check_recording(folder);
}

}  // namespace deadheat::process::recording
