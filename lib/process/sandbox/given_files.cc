#include "lib/process/sandbox/given_files.h"

#include <fcntl.h>
#include <unistd.h>

namespace deadheat::process::sandbox {

GivenFiles::GivenFiles(const std::vector<int>& descriptors) {
  for (const int one : descriptors) {
    struct stat about = {};
    if (one < 0 || ::fstat(one, &about) != 0) continue;
    if (!S_ISREG(about.st_mode) && !S_ISCHR(about.st_mode)) continue;
    all_.push_back({ScopedFd(::fcntl(one, F_DUPFD_CLOEXEC, 3)), about});
  }
}

void GivenFiles::restore() {
  for (const Given& one : all_) {
    struct stat now = {};
    if (::fstat(one.file.get(), &now) != 0) continue;
    if (now.st_uid != one.before.st_uid || now.st_gid != one.before.st_gid) {
      [[maybe_unused]] const int ignored =
          ::fchown(one.file.get(), one.before.st_uid, one.before.st_gid);
    }
    if (now.st_mode != one.before.st_mode) ::fchmod(one.file.get(), one.before.st_mode & 07777);
  }
  all_.clear();
}

}  // namespace deadheat::process::sandbox
