// Finds the bitcode of a program: in its sections, in those of the libraries that it needs, in
// archives and files. All input is considered hostile; unreadable input is reported in one line.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "compiler/scan/frame.h"

namespace deadheat::scan {

struct Inputs {
  std::vector<Frame> modules;         // bitcode, each digest once, in link order
  std::vector<std::string> problems;  // damaged, absent, not readable
  uint64_t duplicates = 0;
  uint64_t absent = 0;                      // translation units without bitcode
  std::vector<std::string> bare_libraries;  // needed, and without bitcode
  std::set<std::string> native_functions;   // defined in machine code that was looked at
};

void add_input(const std::string& path, Inputs& inputs);

}  // namespace deadheat::scan
