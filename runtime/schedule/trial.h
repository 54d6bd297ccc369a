// The trial request of this process (abi/trial.md), with a member for each key of abi/trial.h.
#pragma once

#include <stdint.h>

#include "runtime/common/mode.h"

namespace deadheat::runtime {

struct TrialSite {
  uint32_t role = 0;
  Address offset = 0;
  char build_id[65] = {};
  char path[512] = {};
};

inline constexpr size_t kMaxSites = 4096;

struct Trial {
  char strategy[32] = "race_directed";
  uint64_t seed = 1;
  uint64_t depth = 0, length = 0;
  uint64_t patience = 0, grace = 0;  // ms, release.cc; 0: no release
  int64_t cpu = -1;                  // processor to run on; below 0: the current one
  bool stop_at_race = false;
  bool spins = false;  // the program waits with plain reads: their hooks stay on
  char decisions[1024] = {};
  char follow[1024] = {};
  TrialSite* sites = nullptr;
  size_t site_count = 0;
  uint64_t sites_dropped = 0;  // beyond kMaxSites
};

void read_trial();  // ends the process if it is missing or invalid
const Trial& trial();

}  // namespace deadheat::runtime
