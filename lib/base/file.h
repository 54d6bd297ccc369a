// Whole files in, whole files out; errors name the path and say what to do.
//
// Every input has a bound: a name on the command line may mean a device that never ends, a sparse
// file larger than memory, or a pipe that nobody writes to. Only regular files, pipes, /dev/null
// and terminals are read.
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

// Refuses folders, devices and sockets. Never waits for a pipe to be opened by its writer.
Result<ScopedFd> open_for_reading(const std::string& path);
// What open_for_reading refuses, of a descriptor that is open already.
Status check_readable(int fd, const std::string& name);
// Waits until a pipe has data or its end. Says on standard error what it waits for if that takes
// long, so that nobody takes it for a hang. Returns at once for files.
void wait_for_data(int fd, const std::string& name);

// Inputs that are read whole have less: a findings file of 100,000 findings has some 200 MB.
inline constexpr uint64_t kMostBytes = uint64_t{1} << 30;
// "-" is standard input. An error if there are more than `most` bytes.
Result<std::string> read_file(const std::string& path, uint64_t most = kMostBytes);

// Writes beside the target and renames: a reader sees the old content or the new, a full disk loses
// neither. "-" and things that are not regular files (/dev/stdout, a pipe) are written directly.
// `mode` is that of open(2): the umask takes away from it.
Status write_file(const std::string& path, std::string_view content, mode_t mode = 0666);
Status write_all(int fd, std::string_view content, const std::string& path);

}  // namespace deadheat
