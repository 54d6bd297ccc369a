// Decides what the wrapper adds to a command line: instrumentation if it compiles, our runtime if
// it links, nothing else. A pure function; main.cc executes the result.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "compiler/driver/command_line.h"
#include "compiler/driver/toolchain.h"

namespace deadheat::driver {

// What an installation provides in ../lib/deadheat, beside the wrapper.
struct Installation {
  std::string folder;        // .../lib/deadheat
  bool has_library = false;  // libdeadheat.so
  bool has_specs = false;    // gcc.specs
  int plugin_major = 0;      // clang version that deadheat_pass.so was built for; 0: no plugin
  std::set<int> gcc_plugins = {};  // the gccs that a plugin was built for
  int keeper_major = 0;            // the same of deadheat_keep.so, which keeps bitcode for scan
  bool keeps_bitcode = false;      // --scan
  int validator_major = 0;         // of deadheat_validate.so, which instruments candidates only
  std::string candidates = {};     // --candidates FILE: build for validation; empty: for detection
};

struct Plan {
  std::vector<std::string> arguments;  // for the real compiler
  // Response files of the original whose content had to change: placeholders in `arguments` at
  // these indices, to be written where the compiler can read them.
  struct Rewritten {
    size_t index;
    std::vector<std::string> words;
  };
  std::vector<Rewritten> response_files;
  bool uses_plugin = false;
  bool uses_keeper = false;
  bool uses_validator = false;
};

std::string gcc_plugin_path(const Installation& installation, int major);

Result<Plan> make_plan(const std::vector<std::string>& arguments, const Toolchain& toolchain,
                       const Installation& installation);

}  // namespace deadheat::driver
