#include "lib/base/file.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "lib/base/printable.h"
#include "lib/base/text.h"

namespace deadheat {

Error errno_error(std::string_view what, const std::string& path, int error_number) {
  std::string hint;
  if (error_number == ENOENT)
    hint = "check the path; relative paths start at the current directory";
  if (error_number == EACCES || error_number == EPERM)
    hint = "check the file's permissions and owner";
  if (error_number == ENOSPC || error_number == EDQUOT)
    hint = "free some disk space, or write to another file system";
  if (error_number == EISDIR) hint = "name a file, not a directory";
  return Error{std::string(what) + " " + path + ": " + std::strerror(error_number), hint};
}

namespace {

Error is_device(const std::string& name) {
  return {"cannot read " + name + ": it is a device", "name a file or a pipe"};
}

// By its number, since only an open one can be asked. Not serial lines, unless one is the caller's.
bool may_be_terminal(const struct stat& info) {
  const unsigned number = major(info.st_rdev);
  constexpr unsigned kConsoles = 4, kMostConsoles = 64, kOwn = 5, kMostOwn = 2, kFirstPseudo = 136,
                     kLastPseudo = 143;
  if (number >= kFirstPseudo && number <= kLastPseudo) return true;
  if (number == kOwn && minor(info.st_rdev) < kMostOwn) return true;  // ptmx makes a new one
  if (number == kConsoles && minor(info.st_rdev) < kMostConsoles) return true;
  struct stat own{};
  return ::fstat(STDIN_FILENO, &own) == 0 && S_ISCHR(own.st_mode) && own.st_rdev == info.st_rdev;
}

bool is_null(const struct stat& info) {
  return S_ISCHR(info.st_mode) && info.st_rdev == makedev(1, 3);
}

// Opens what was looked at, even if the path now leads elsewhere.
Result<ScopedFd> open_unless(const std::string& path, bool (*refused)(const struct stat&),
                             const Error& why) {
  const ScopedFd place(::open(path.c_str(), O_PATH | O_CLOEXEC));
  struct stat info{};
  if (!place.valid() || ::fstat(place.get(), &info) != 0)
    return errno_error("cannot open", path, errno);
  if (refused(info)) return why;
  constexpr int kFlags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY;
  ScopedFd fd(::open(("/proc/self/fd/" + std::to_string(place.get())).c_str(), kFlags));
  if (!fd.valid() && errno == ENOENT) fd = ScopedFd(::open(path.c_str(), kFlags));  // no /proc
  if (!fd.valid()) return errno_error("cannot open", path, errno);
  return fd;
}

}  // namespace

Status check_readable(int fd, const std::string& name) {
  struct stat info{};
  if (::fstat(fd, &info) != 0) return errno_error("cannot read", name, errno);
  if (S_ISDIR(info.st_mode)) return errno_error("cannot read", name, EISDIR);
  if (S_ISREG(info.st_mode) || S_ISFIFO(info.st_mode) || is_null(info) || ::isatty(fd) == 1)
    return Ok{};
  // A shell or service manager may connect a socket as standard input.
  if (S_ISSOCK(info.st_mode)) return Ok{};
  return is_device(name);
}

Result<ScopedFd> open_regular(const std::string& path) {
  return open_unless(
      path, [](const struct stat& info) { return !S_ISREG(info.st_mode); },
      Error{path + " is not a regular file", ""});
}

Result<ScopedFd> open_for_reading(const std::string& path) {
  auto fd = open_unless(
      path,
      [](const struct stat& info) {
        return S_ISBLK(info.st_mode) ||
               (S_ISCHR(info.st_mode) && !is_null(info) && !may_be_terminal(info));
      },
      is_device(path));
  if (!fd) return fd.error();
  const Status readable = check_readable(fd->get(), path);
  if (!readable) return readable.error();
  wait_for_data(fd->get(), path);
  const int flags = ::fcntl(fd->get(), F_GETFL);
  if (flags >= 0) ::fcntl(fd->get(), F_SETFL, flags & ~O_NONBLOCK);
  return fd;
}

void wait_for_data(int fd, const std::string& name) {
  constexpr int kLong_ms = 2000;
  struct stat info{};
  if (::fstat(fd, &info) != 0 || !(S_ISFIFO(info.st_mode) || S_ISSOCK(info.st_mode))) return;
  pollfd wanted = {fd, POLLIN, 0};
  if (::poll(&wanted, 1, kLong_ms) != 0) return;
  std::fprintf(stderr, "deadheat: waiting for %s, a pipe without a writer so far\n",
               printable(name).c_str());
  while (::poll(&wanted, 1, -1) < 0 && errno == EINTR) {
  }
}

Result<std::string> read_file(const std::string& path, uint64_t most) {
  ScopedFd owned;
  int fd = STDIN_FILENO;
  const std::string name = path == "-" ? "standard input" : path;
  if (path != "-") {
    auto opened = open_for_reading(path);
    if (!opened) return opened.error();
    owned = std::move(*opened);
    fd = owned.get();
  } else {
    if (const Status readable = check_readable(fd, name); !readable) return readable.error();
    wait_for_data(fd, name);
  }
  const auto too_long = [&](uint64_t size) {
    return Error{name + " has " + (size > 0 ? with_thousands(size) + " bytes" : "too many bytes") +
                     "; the most that is read is " + with_thousands(most),
                 "is it the right file?"};
  };
  struct stat info{};
  if (::fstat(fd, &info) == 0 && S_ISREG(info.st_mode)) {
    const auto size = static_cast<uint64_t>(info.st_size);
    if (size > most) return too_long(size);
  }
  std::string content;
  char buffer[1 << 16];
  for (;;) {
    const ssize_t got = ::read(fd, buffer, sizeof buffer);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return errno_error("cannot read", name, errno);
    if (got == 0) return content;
    if (content.size() + static_cast<size_t>(got) > most) return too_long(0);
    content.append(buffer, static_cast<size_t>(got));
  }
}

Status write_all(int fd, std::string_view content, const std::string& path) {
  while (!content.empty()) {
    const ssize_t put = ::write(fd, content.data(), content.size());
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) return errno_error("cannot write", path, errno);
    content.remove_prefix(static_cast<size_t>(put));
  }
  return Ok{};
}

Status write_file(const std::string& path, std::string_view content, mode_t mode) {
  if (path == "-") return write_all(STDOUT_FILENO, content, "standard output");
  struct stat info{};
  if (::stat(path.c_str(), &info) == 0 && !S_ISREG(info.st_mode)) {
    ScopedFd fd(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
    if (!fd.valid()) return errno_error("cannot open", path, errno);
    return write_all(fd.get(), content, path);
  }
  // O_EXCL and an unpredictable name: in a shared folder another user could have placed a link
  // under a name that can be guessed.
  uint32_t random = 0;
  if (::getrandom(&random, sizeof random, GRND_NONBLOCK) < 0) random = 0;
  const std::string temporary =
      path + ".tmp." + std::to_string(::getpid()) + "." + std::to_string(random);
  ScopedFd fd(::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode));
  if (!fd.valid()) return errno_error("cannot create", path, errno);
  auto written = write_all(fd.get(), content, path);
  if (written && ::rename(temporary.c_str(), path.c_str()) != 0)
    written = errno_error("cannot replace", path, errno);
  if (!written) ::unlink(temporary.c_str());
  return written;
}

}  // namespace deadheat
