// What a binary was built to validate: the lists in it, and the fate of each site.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "lib/validate/list.h"

namespace deadheat::validate {

struct Fate {
  uint32_t fate = 0;  // DHV_FATE_*; the best of all objects
  uint32_t line = 0, instructions = 0;
};

struct Built {
  CompiledList list;
  std::map<uint32_t, Fate> fates;  // by site
};

// All lists of these files (a program and its libraries), merged by fingerprint. A file that is
// unreadable, or has none, adds nothing.
std::vector<Built> read_binaries(const std::vector<std::string>& paths);

// Which candidates of `wanted` are in `built`, according to their sites.
struct Mapping {
  std::vector<int64_t> numbers;  // [i]: number in the binary of pair i of `wanted`; -1: not there
  size_t mapped = 0;
};
Mapping map_candidates(const List& wanted, const CompiledList& built);

// "12 sites: 10 instrumented, 1 waits only, 1 optimised away, 0 not found"
std::string describe(const Built& built);

}  // namespace deadheat::validate
