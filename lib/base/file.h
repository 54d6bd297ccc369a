// Whole files in, whole files out; errors name the path and say what to do.
#pragma once

#include <string>
#include <string_view>

#include "lib/base/result.h"
#include "lib/base/scoped_fd.h"

namespace deadheat {

// "cannot open trace.dht: No such file or directory", with a hint where one helps.
Error errno_error(std::string_view what, const std::string& path, int error_number);

Result<ScopedFd> open_for_reading(const std::string& path);
Result<std::string> read_file(const std::string& path);
// Writes beside the target and renames: a reader sees the old content or the new, a full disk loses
// neither.
// "-" and things that are not regular files (/dev/stdout, a pipe) are written directly.
Status write_file(const std::string& path, std::string_view content);
Status write_all(int fd, std::string_view content, const std::string& path);

}  // namespace deadheat
