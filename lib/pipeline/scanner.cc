#include "lib/pipeline/scanner.h"

#include <unistd.h>

#include <cstdlib>

#include "lib/pipeline/captured.h"

namespace deadheat::pipeline {

std::string scanner() { return self_folder() + "/deadheat-scan"; }

Status check_scanner() {
  if (::access(scanner().c_str(), X_OK) == 0) return Ok{};
  return Error{"this build has no deadheat-scan, which needs LLVM 19",
               "apt-get install llvm-19-dev clang-19, and build Deadheat again"};
}

std::string scan_cache() {
  const auto folder = [](const char* name) -> std::string {
    const char* value = std::getenv(name);
    return value != nullptr && value[0] == '/' ? value : "";
  };
  if (const std::string caches = folder("XDG_CACHE_HOME"); !caches.empty())
    return caches + "/deadheat/scan";
  const std::string home = folder("HOME");
  return home.empty() ? "" : home + "/.cache/deadheat/scan";
}

}  // namespace deadheat::pipeline
