// Locates deadheat-scan, the separate program that is the only one linked with LLVM.
#pragma once

#include <string>

#include "lib/base/result.h"

namespace deadheat::pipeline {

std::string scanner();   // its path
Status check_scanner();  // the Error says what to install

}  // namespace deadheat::pipeline
