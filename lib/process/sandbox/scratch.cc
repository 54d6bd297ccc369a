#include "lib/process/sandbox/scratch.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <system_error>
#include <utility>

#include "lib/base/file.h"

namespace deadheat::process {
namespace {

namespace fs = std::filesystem;
constexpr char kPrefix[] = "deadheat-sandbox-";

// An overlay leaves folders that not even their owner may search.
void remove_tree(const std::string& folder) {
  std::error_code error;
  for (fs::recursive_directory_iterator at(folder, fs::directory_options::none, error), end;
       !error && at != end; at.increment(error))
    if (at->is_directory(error) && !at->is_symlink(error))
      fs::permissions(at->path(), fs::perms::owner_all, fs::perm_options::add, error);
  fs::remove_all(folder, error);
}

void remove_stale(const std::string& where) {
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(where, error)) {
    if (!entry.path().filename().string().starts_with(kPrefix)) continue;
    const ScopedFd lock(
        ::open(entry.path().c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    struct stat info = {};
    if (!lock.valid() || ::fstat(lock.get(), &info) != 0 || info.st_uid != ::geteuid()) continue;
    if (::flock(lock.get(), LOCK_EX | LOCK_NB) == 0) remove_tree(entry.path());
  }
}

}  // namespace

Result<Scratch> Scratch::create(const std::string& where) {
  remove_stale(where);
  std::string name = where + "/" + kPrefix + "XXXXXX";
  if (::mkdtemp(name.data()) == nullptr)
    return errno_error("cannot make a folder in", where, errno);
  Scratch scratch;
  scratch.folder_ = std::move(name);
  scratch.lock_ = ScopedFd(::open(scratch.folder_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  ::flock(scratch.lock_.get(), LOCK_SH);
  return scratch;
}

Scratch::Scratch(Scratch&& other) noexcept
    : folder_(std::exchange(other.folder_, "")), lock_(std::move(other.lock_)) {}

Scratch& Scratch::operator=(Scratch&& other) noexcept {
  std::swap(folder_, other.folder_);
  std::swap(lock_, other.lock_);
  return *this;
}

Scratch::~Scratch() {
  if (!folder_.empty()) remove_tree(folder_);
}

}  // namespace deadheat::process
