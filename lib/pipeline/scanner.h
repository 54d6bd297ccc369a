// deadheat-scan, the program of its own that alone is linked to LLVM: where it is.
#pragma once

#include <string>

#include "lib/base/result.h"

namespace deadheat::pipeline {

std::string scanner();   // its path
Status check_scanner();  // an Error says what to install

}  // namespace deadheat::pipeline
