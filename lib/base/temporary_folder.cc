#include "lib/base/temporary_folder.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <system_error>
#include <utility>

#include "lib/base/file.h"
#include "lib/base/text.h"

namespace deadheat {
namespace {

namespace fs = std::filesystem;

// An overlay leaves folders behind that not even their owner may search.
void remove_tree(const std::string& folder) {
  std::error_code error;
  for (fs::recursive_directory_iterator at(folder, fs::directory_options::none, error), end;
       !error && at != end; at.increment(error))
    if (at->is_directory(error) && !at->is_symlink(error))
      fs::permissions(at->path(), fs::perms::owner_all, fs::perm_options::add, error);
  fs::remove_all(folder, error);
}

void remove_stale(const std::string& where, const std::string& prefix) {
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(where, error)) {
    if (!entry.path().filename().string().starts_with(prefix)) continue;
    const ScopedFd lock(
        ::open(entry.path().c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    struct stat info = {};
    if (!lock.valid() || ::fstat(lock.get(), &info) != 0 || info.st_uid != ::geteuid()) continue;
    if (::flock(lock.get(), LOCK_EX | LOCK_NB) == 0) remove_tree(entry.path());
  }
}

}  // namespace

Result<TemporaryFolder> TemporaryFolder::create(const std::string& where,
                                                const std::string& prefix) {
  remove_stale(where, prefix);
  for (;;) {
    std::string name = where + "/" + prefix + "XXXXXX";
    if (::mkdtemp(name.data()) == nullptr) {
      Error error = errno_error("cannot make a folder in", where, errno);
      if (const std::string full = why_full(where); !full.empty()) error.hint = full;
      return error;
    }
    TemporaryFolder made;
    made.folder_ = std::move(name);
    made.lock_ = ScopedFd(::open(made.folder_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    // Before the lock is taken, another tool that starts now may remove the folder as stale.
    if (made.lock_.valid() && ::flock(made.lock_.get(), LOCK_SH) == 0 && fs::exists(made.folder_))
      return made;
  }
}

std::string why_full(const std::string& folder) {
  constexpr uint64_t kLittle = 1 << 20;  // a runtime's first pages, and a log
  struct statvfs info = {};
  if (::statvfs(folder.c_str(), &info) != 0) return {};
  const uint64_t free = uint64_t{info.f_bavail} * info.f_frsize;
  if (free < kLittle)
    return folder + " is full: " + with_thousands(free) + " of " +
           with_thousands(uint64_t{info.f_blocks} * info.f_frsize) +
           " bytes are left; free some, or set TMPDIR";
  if (info.f_files > 0 && info.f_favail == 0)
    return folder + " can hold no more files; remove some, or set TMPDIR";
  return {};
}

TemporaryFolder::TemporaryFolder(TemporaryFolder&& other) noexcept
    : folder_(std::exchange(other.folder_, "")), lock_(std::move(other.lock_)) {}

TemporaryFolder& TemporaryFolder::operator=(TemporaryFolder&& other) noexcept {
  std::swap(folder_, other.folder_);
  std::swap(lock_, other.lock_);
  return *this;
}

TemporaryFolder::~TemporaryFolder() {
  if (!folder_.empty()) remove_tree(folder_);
}

}  // namespace deadheat
