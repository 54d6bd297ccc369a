// --scan: bitcode that goes into the object beside the machine code (compiler/scan/frame.h).
//
// clang 19 keeps it by a plugin, which plan.cc adds. With any other compiler clang 19 is run first,
// only for its bitcode; without it, or where it fails, a frame says so and the build goes on in
// silence: `deadheat scan` names the file and the reason.
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

// Compiles the sources for their bitcode and adds the words that hand it over.
void add_kept_bitcode(std::vector<std::string>& arguments, Language language);

}  // namespace deadheat::driver
