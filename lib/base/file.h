// Reads and writes whole files; errors name the path and say what to do.
//
// Every input has a size limit: a name on the command line may refer to an endless device, a sparse
// file larger than memory, or a pipe without a writer. Only regular files, pipes, /dev/null and
// terminals are read.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "lib/base/result.h"
#include "lib/base/scoped_fd.h"

namespace deadheat {

// "cannot open trace.dht: No such file or directory", with a hint where one helps.
Error errno_error(std::string_view what, const std::string& path, int error_number);

// Refuses folders, devices and sockets. Never blocks until a writer opens the pipe, and never opens
// a device: that alone starts a watchdog or rewinds a tape, and paths come out of others' files.
Result<ScopedFd> open_for_reading(const std::string& path);
// The same for what can only be a regular file; pipes are refused too.
Result<ScopedFd> open_regular(const std::string& path);
// Applies the checks of open_for_reading to a descriptor that is already open.
Status check_readable(int fd, const std::string& name);
// Waits until a pipe has data or reaches its end. After a while it says on standard error what it
// waits for, so that the user does not take the wait for a hang. Returns at once for files.
void wait_for_data(int fd, const std::string& name);

// The largest input that is read whole. A findings file with 100,000 findings is about 200 MB.
inline constexpr uint64_t kMostBytes = uint64_t{1} << 30;
// "-" is standard input. An error if there are more than `most` bytes.
Result<std::string> read_file(const std::string& path, uint64_t most = kMostBytes);

// Writes a temporary file beside the target and renames it: a reader sees the old content or the
// new, and a full disk loses neither. Writes directly to "-" and to anything that is not a regular
// file (/dev/stdout, a pipe). `mode` is that of open(2), subject to the umask.
Status write_file(const std::string& path, std::string_view content, mode_t mode = 0666);
Status write_all(int fd, std::string_view content, const std::string& path);

}  // namespace deadheat
