#include "lib/trace/input.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <utility>
#include <vector>

#include "lib/base/file.h"
#include "lib/base/text.h"

namespace deadheat::trace {
namespace {

// A pipe is copied to a file, since a trace is read in any order. The limit prevents an endless
// pipe from filling the disk; a trace of an hour has some gigabytes.
constexpr uint64_t kMostSpooled = uint64_t{8} << 30;

Result<ScopedFd> temporary_file() {
  const char* folder = std::getenv("TMPDIR");
  std::string path = std::string(folder != nullptr && *folder != '\0' ? folder : "/tmp") +
                     "/deadheat-spool-XXXXXX";
  ScopedFd fd(::mkostemp(path.data(), O_CLOEXEC));
  if (!fd.valid()) return errno_error("cannot create a temporary file", path, errno);
  ::unlink(path.c_str());
  return fd;
}

Result<ScopedFd> spool(int from, const std::string& name) {
  auto to = temporary_file();
  if (!to) return to.error();
  std::vector<char> buffer(1 << 16);
  uint64_t total = 0;
  for (;;) {
    const ssize_t got = ::read(from, buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return errno_error("cannot read", name, errno);
    if (got == 0) return to;
    total += static_cast<uint64_t>(got);
    if (total > kMostSpooled)
      return Error{name + " has more than " + with_thousands(kMostSpooled) + " bytes",
                   "write the trace to a file first"};
    auto put = write_all(to->get(), {buffer.data(), static_cast<size_t>(got)}, "temporary file");
    if (!put) return put.error();
  }
}

}  // namespace

Result<Input> Input::open(const std::string& path) {
  Input input;
  input.name_ = path == "-" ? "standard input" : path;
  if (path == "-") {
    input.fd_ = ScopedFd(::fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0));
    if (!input.fd_.valid()) return errno_error("cannot read", input.name_, errno);
    if (const Status readable = check_readable(input.fd_.get(), input.name_); !readable)
      return readable.error();
    wait_for_data(input.fd_.get(), input.name_);
  } else {
    auto fd = open_for_reading(path);
    if (!fd) return fd.error();
    input.fd_ = std::move(*fd);
  }
  struct stat info{};
  if (::fstat(input.fd_.get(), &info) != 0) return errno_error("cannot read", input.name_, errno);
  if (!S_ISREG(info.st_mode)) {
    auto spooled = spool(input.fd_.get(), input.name_);
    if (!spooled) return spooled.error();
    input.fd_ = std::move(*spooled);
  }
  return input;
}

Input Input::from_memory(std::span<const uint8_t> bytes, std::string name) {
  Input input;
  input.memory_ = bytes;
  input.name_ = std::move(name);
  return input;
}

size_t Input::read(uint64_t offset, void* to, size_t size) const {
  if (!fd_.valid()) {
    if (offset >= memory_.size() || size == 0) return 0;
    const size_t got = std::min<uint64_t>(size, memory_.size() - offset);
    std::memcpy(to, memory_.data() + offset, got);
    return got;
  }
  size_t done = 0;
  while (done < size) {
    const ssize_t got = ::pread(fd_.get(), static_cast<char*>(to) + done, size - done,
                                static_cast<off_t>(offset + done));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    done += static_cast<size_t>(got);
  }
  return done;
}

uint64_t Input::size() const {
  if (!fd_.valid()) return memory_.size();
  struct stat info{};
  return ::fstat(fd_.get(), &info) == 0 ? static_cast<uint64_t>(info.st_size) : 0;
}

}  // namespace deadheat::trace
