#include "lib/pipeline/record.h"

#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "lib/base/file.h"
#include "lib/pipeline/launch.h"
#include "lib/pipeline/runtime_environment.h"
#include "lib/trace/open.h"

namespace deadheat::pipeline {
namespace {

// The runtime appends, so a file of an earlier run would become part of this trace. Remove it
// without asking only if it is a trace or empty.
Status make_room(const std::string& path) {
  struct stat info{};
  if (::lstat(path.c_str(), &info) != 0) return Ok{};
  const Error refused{path + " exists and is not a trace", "name another file with -o"};
  if (!S_ISREG(info.st_mode)) return refused;
  if (info.st_size > 0) {
    const auto opened = trace::open_any_trace(path);
    if (!opened || opened.value().format != trace::TraceFormat::kContainer) return refused;
  }
  if (::unlink(path.c_str()) != 0) return errno_error("cannot replace", path, errno);
  return Ok{};
}

}  // namespace

Result<Environment> prepare_recording(const std::string& path, std::vector<std::string> options) {
  const auto folder = runtime_folder("record");
  if (!folder) return folder.error();
  std::error_code error;
  const std::string full = std::filesystem::absolute(path, error).string();
  if (const Status room = make_room(full); !room) return room.error();
  options.push_back("trace_path=" + full);
  return Environment{{"LD_LIBRARY_PATH", library_path(folder.value())},
                     {"DEADHEAT_OPTIONS", runtime_environment(options)}};
}

}  // namespace deadheat::pipeline
