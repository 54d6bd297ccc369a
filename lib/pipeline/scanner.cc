#include "lib/pipeline/scanner.h"

#include <unistd.h>

#include "lib/pipeline/captured.h"

namespace deadheat::pipeline {

std::string scanner() { return self_folder() + "/deadheat-scan"; }

Status check_scanner() {
  if (::access(scanner().c_str(), X_OK) == 0) return Ok{};
  return Error{"this build has no deadheat-scan, which needs LLVM 19",
               "apt-get install llvm-19-dev clang-19, and build Deadheat again"};
}

}  // namespace deadheat::pipeline
