// A watch: what is asked of it and what it gives back, whether it is of a program (session.h) or of
// the kernel (kernel_session.h).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "lib/base/counter.h"
#include "lib/sampler/backend/backend.h"
#include "lib/sampler/backend/collision.h"

namespace deadheat::sampler {

struct WatchOptions {
  double budget = 0.03;
  double seconds = 0;  // 0: until the target ends or a request to end
  uint64_t seed = 1;
  uint64_t delay_ns = 500'000;         // mean; each delay is drawn between a half and three halves
  size_t breakpoints = 64;             // at once, at most
  std::vector<std::string> functions;  // patterns; empty: all
  std::vector<std::string> modules;    // patterns for paths or names; empty: as the target decides
};

struct SessionResult {
  std::vector<Collision> collisions;
  std::vector<LoadedModule> modules;  // what CodePlace::module refers to; none for the kernel
  Counters counters;
  double seconds = 0, used = 0;  // used: share of the run time that was taken
  uint64_t sites = 0, running = 0, sampled = 0;
  uint64_t hits = 0, samples = 0;
  uint64_t not_decoded = 0;  // modules
  bool ended = false, interrupted = false;
  bool alone = false;   // there were never two threads
  std::string problem;  // why a module could not be decoded
};

}  // namespace deadheat::sampler
