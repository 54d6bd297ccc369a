// Locates deadheat-scan, the separate program that is the only one linked with LLVM.
#pragma once

#include <string>

#include "lib/base/result.h"

namespace deadheat::pipeline {

std::string scanner();   // its path
Status check_scanner();  // the Error says what to install
// Where it keeps results of programs that have not changed; empty: there is no such folder.
std::string scan_cache();

}  // namespace deadheat::pipeline
