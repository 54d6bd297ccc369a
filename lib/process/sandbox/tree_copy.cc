#include "lib/process/sandbox/tree_copy.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <cstring>
#include <string_view>

#include "lib/base/file.h"
#include "lib/base/scoped_fd.h"
#include "lib/base/text.h"

namespace deadheat::process::sandbox {
namespace {

// overlay.origin refers to an inode of the original machine and is omitted.
bool is_kept(std::string_view name) {
  return name == "trusted.overlay.opaque" || name == "trusted.overlay.redirect" ||
         name == "user.overlay.opaque" || name == "user.overlay.redirect" ||
         name == "security.capability" ||
         (name.starts_with("user.") && !name.starts_with("user.overlay."));
}

void copy_attributes(int from, int to) {
  std::array<char, 4096> names = {};
  const ssize_t size = ::flistxattr(from, names.data(), names.size());
  if (size <= 0) return;
  for (const std::string_view name : split({names.data(), static_cast<size_t>(size)}, '\0')) {
    if (name.empty() || !is_kept(name)) continue;
    std::array<char, 4096> value = {};
    const ssize_t length = ::fgetxattr(from, name.data(), value.data(), value.size());
    if (length >= 0) ::fsetxattr(to, name.data(), value.data(), static_cast<size_t>(length), 0);
  }
}

void copy_meta(int from, int to, const struct stat& info) {
  copy_attributes(from, to);
  // For users other than root this fails, but then everything in the folder is theirs anyway.
  [[maybe_unused]] const int ignored = ::fchown(to, info.st_uid, info.st_gid);
  ::fchmod(to, info.st_mode & 07777);
  const std::array<timespec, 2> times = {info.st_atim, info.st_mtim};
  ::futimens(to, times.data());
}

Status copy_bytes(int from, int to, const struct stat& info, const std::string& path) {
  off_t at = 0;
  while (at < info.st_size) {  // preserves holes: a sparse file must not fill a tmpfs
    const off_t data = ::lseek(from, at, SEEK_DATA);
    if (data < 0) break;
    off_t end = ::lseek(from, data, SEEK_HOLE);
    if (end < 0) end = info.st_size;
    if (::lseek(to, data, SEEK_SET) < 0) return errno_error("cannot write", path, errno);
    for (at = data; at < end;) {
      const ssize_t done = ::sendfile(to, from, &at, static_cast<size_t>(end - at));
      if (done < 0) return errno_error("cannot copy", path, errno);
      if (done == 0) end = at;  // it was truncated meanwhile
    }
  }
  if (::ftruncate(to, info.st_size) != 0) return errno_error("cannot write", path, errno);
  return Ok{};
}

Status copy_entry(int from, int to, const char* name, const std::string& path);

}  // namespace

Status copy_tree(int from, int to, const std::string& where) {
  DIR* folder = ::fdopendir(::openat(from, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (folder == nullptr) return errno_error("cannot read", where, errno);
  Status status = Ok{};
  while (const dirent* entry = ::readdir(folder)) {
    const std::string_view name = entry->d_name;
    if (name == "." || name == "..") continue;
    status = copy_entry(from, to, entry->d_name, where + "/" + std::string(name));
    if (!status) break;
  }
  ::closedir(folder);
  return status;
}

namespace {

Status copy_folder(int from, int to, const char* name, const struct stat& info,
                   const std::string& path) {
  if (::mkdirat(to, name, S_IRWXU) != 0 && errno != EEXIST)
    return errno_error("cannot make", path, errno);
  const int flags = O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW;
  const ScopedFd in(::openat(from, name, flags)), out(::openat(to, name, flags));
  if (!in.valid() || !out.valid()) return errno_error("cannot open", path, errno);
  Status status = copy_tree(in.get(), out.get(), path);
  copy_meta(in.get(), out.get(), info);
  return status;
}

Status copy_file(int from, int to, const char* name, const struct stat& info,
                 const std::string& path) {
  const ScopedFd in(::openat(from, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  if (!in.valid()) return errno_error("cannot read", path, errno);
  ::unlinkat(to, name, 0);
  const ScopedFd out(
      ::openat(to, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, S_IRUSR | S_IWUSR));
  if (!out.valid()) return errno_error("cannot make", path, errno);
  Status status = copy_bytes(in.get(), out.get(), info, path);
  copy_meta(in.get(), out.get(), info);
  return status;
}

Status copy_link(int from, int to, const char* name, const std::string& path) {
  std::array<char, PATH_MAX> target = {};
  const ssize_t size = ::readlinkat(from, name, target.data(), target.size() - 1);
  if (size < 0) return errno_error("cannot read", path, errno);
  ::unlinkat(to, name, 0);
  if (::symlinkat(target.data(), to, name) != 0) return errno_error("cannot make", path, errno);
  return Ok{};
}

Status copy_entry(int from, int to, const char* name, const std::string& path) {
  struct stat info = {};
  if (::fstatat(from, name, &info, AT_SYMLINK_NOFOLLOW) != 0) {
    if (errno == ENOENT) return Ok{};
    return errno_error("cannot read", path, errno);
  }
  if (S_ISDIR(info.st_mode)) return copy_folder(from, to, name, info, path);
  if (S_ISREG(info.st_mode)) return copy_file(from, to, name, info, path);
  if (S_ISLNK(info.st_mode)) return copy_link(from, to, name, path);
  const bool whiteout = S_ISCHR(info.st_mode) && info.st_rdev == makedev(0, 0);
  if (!whiteout && !S_ISFIFO(info.st_mode) && !S_ISSOCK(info.st_mode)) return Ok{};
  ::unlinkat(to, name, 0);
  if (::mknodat(to, name, info.st_mode, whiteout ? makedev(0, 0) : 0) != 0)
    return errno_error("cannot make", path, errno);
  return Ok{};
}

}  // namespace

}  // namespace deadheat::process::sandbox
