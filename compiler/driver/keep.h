// --scan: stores bitcode in the object beside the machine code (compiler/scan/frame.h).
//
// With clang 19 a plugin, which plan.cc adds, stores it. With any other compiler clang 19 runs
// first, only for its bitcode; if it is missing or fails, a frame records that and the build
// continues silently: `deadheat scan` names the file and the reason.
#pragma once

#include <string>
#include <vector>

#include "compiler/driver/plan.h"

namespace deadheat::driver {

// Takes --scan out of the words; true if it was there or DEADHEAT_MODE lists scan.
bool take_scan_word(std::vector<std::string>& arguments);

// Whether this compilation needs clang 19 besides the compiler itself.
bool needs_second_compiler(const std::vector<std::string>& arguments, const Toolchain& toolchain,
                           const Installation& installation);

// Compiles the sources to bitcode and adds the words that embed it.
void add_kept_bitcode(std::vector<std::string>& arguments, Language language);

}  // namespace deadheat::driver
