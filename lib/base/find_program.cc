#include "lib/base/find_program.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

#include "lib/base/text.h"

namespace deadheat {
namespace {

namespace fs = std::filesystem;

bool is_executable(const std::string& path) {
  struct stat info{};
  return ::stat(path.c_str(), &info) == 0 && S_ISREG(info.st_mode) &&
         ::access(path.c_str(), X_OK) == 0;
}

}  // namespace

std::string find_program(const std::string& name) {
  if (name.find('/') != std::string::npos) return fs::exists(name) ? name : std::string();
  const char* path = std::getenv("PATH");
  std::string found;
  for (const std::string_view folder : split(path == nullptr ? "/usr/bin:/bin" : path, ':')) {
    const std::string full = (folder.empty() ? "." : std::string(folder)) + "/" + name;
    if (is_executable(full)) return full;
    if (found.empty() && fs::exists(full)) found = full;
  }
  return found;
}

}  // namespace deadheat
