#include "lib/base/file.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>

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

Result<ScopedFd> open_for_reading(const std::string& path) {
  ScopedFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd.valid()) return errno_error("cannot open", path, errno);
  struct stat info{};
  if (::fstat(fd.get(), &info) == 0 && S_ISDIR(info.st_mode))
    return errno_error("cannot read", path, EISDIR);
  return fd;
}

Result<std::string> read_file(const std::string& path) {
  ScopedFd owned;
  int fd = STDIN_FILENO;
  if (path != "-") {
    auto opened = open_for_reading(path);
    if (!opened) return opened.error();
    owned = std::move(*opened);
    fd = owned.get();
  }
  std::string content;
  char buffer[1 << 16];
  for (;;) {
    const ssize_t got = ::read(fd, buffer, sizeof buffer);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return errno_error("cannot read", path, errno);
    if (got == 0) return content;
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

Status write_file(const std::string& path, std::string_view content) {
  if (path == "-") return write_all(STDOUT_FILENO, content, "standard output");
  struct stat info{};
  if (::stat(path.c_str(), &info) == 0 && !S_ISREG(info.st_mode)) {
    ScopedFd fd(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
    if (!fd.valid()) return errno_error("cannot open", path, errno);
    return write_all(fd.get(), content, path);
  }
  const std::string temporary = path + ".tmp." + std::to_string(::getpid());
  ScopedFd fd(::open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666));
  if (!fd.valid()) return errno_error("cannot create", path, errno);
  auto written = write_all(fd.get(), content, path);
  if (written && ::rename(temporary.c_str(), path.c_str()) != 0)
    written = errno_error("cannot replace", path, errno);
  if (!written) ::unlink(temporary.c_str());
  return written;
}

}  // namespace deadheat
