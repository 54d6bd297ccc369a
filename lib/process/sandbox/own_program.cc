#include "lib/process/sandbox/own_program.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>
#include <utility>

#include "lib/base/file.h"
#include "lib/base/scoped_fd.h"

namespace deadheat::process::sandbox {
namespace {

constexpr char kOwnProgram[] = "/proc/self/exe";
constexpr int kSeals = F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE;

bool on_read_only_mount(int file) {
  struct statvfs about = {};
  return ::fstatvfs(file, &about) == 0 && (about.f_flag & ST_RDONLY) != 0;
}

bool is_sealed(int file) {
  const int seals = ::fcntl(file, F_GET_SEALS);
  return seals >= 0 && (seals & F_SEAL_WRITE) != 0;
}

// A mount of the file alone, attached nowhere (Linux 5.12).
ScopedFd read_only_mount() {
  ScopedFd mount(static_cast<int>(
      ::syscall(SYS_open_tree, AT_FDCWD, kOwnProgram, OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC)));
  mount_attr attributes = {};
  attributes.attr_set = MOUNT_ATTR_RDONLY;
  if (!mount.valid() ||
      ::mount_setattr(mount.get(), "", AT_EMPTY_PATH, &attributes, sizeof attributes) != 0)
    return {};
  return on_read_only_mount(mount.get()) ? std::move(mount) : ScopedFd();
}

// With the time of the original, which distinguishes the results of different builds.
ScopedFd sealed_copy(int original, const struct stat& about) {
  ScopedFd copy(::memfd_create("deadheat", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!copy.valid()) return {};
  for (off_t done = 0; done < about.st_size;)
    if (::sendfile(copy.get(), original, &done, static_cast<size_t>(about.st_size - done)) <= 0)
      return {};
  const timespec times[2] = {about.st_atim, about.st_mtim};
  ::fchmod(copy.get(), 0500);
  ::futimens(copy.get(), times);
  return ::fcntl(copy.get(), F_ADD_SEALS, kSeals) == 0 ? std::move(copy) : ScopedFd();
}

}  // namespace

Status protect_own_program(char** words, char** environment) {
  const ScopedFd own(::open(kOwnProgram, O_RDONLY | O_CLOEXEC));
  struct stat about = {};
  if (!own.valid() || ::fstat(own.get(), &about) != 0)
    return errno_error("cannot open", kOwnProgram, errno);
  const uid_t user = ::geteuid();
  if (user != 0 && about.st_uid != user) return Ok{};  // not the owner: it cannot be changed
  if (on_read_only_mount(own.get()) || is_sealed(own.get())) return Ok{};
  for (const bool mounted : {true, false}) {
    const ScopedFd again = mounted ? read_only_mount() : sealed_copy(own.get(), about);
    if (again.valid()) ::execveat(again.get(), "", words, environment, AT_EMPTY_PATH);
  }
  return Error{std::string("cannot execute a protected copy of itself: ") + std::strerror(errno),
               "run untrusted commands as a user who does not own deadheat's program"};
}

}  // namespace deadheat::process::sandbox
