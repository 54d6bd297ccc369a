// Random traces for conformance tests: every event kind, a small address space so that accesses
// collide, mostly well formed (locks are exclusive, regions nest) and occasionally broken, like
// external input.
#pragma once

#include <cstdint>

#include "lib/analysis/memory_source.h"

namespace deadheat::analysis {

struct RandomTraceOptions {
  size_t events = 80;
  uint32_t threads = 4;
  uint32_t locks = 3;
  uint32_t variables = 4;  // of 8 bytes each
  uint32_t sites = 12;
  bool atomics = true;
  bool rendezvous = true;  // barriers, semaphores, once, notify, annotations
  double semaphores = 0;   // chance that a step posts to a semaphore or waits for one
  bool memory = true;      // alloc and free
  bool regions = false;
  bool odd_sizes = true;   // 1, 2, 4 and 16 byte accesses at any offset
  double disciplined = 0;  // chance that a plain access happens under its variable's lock
  double broken = 0.02;    // chance that an event violates well-formedness
};

Trace random_trace(uint64_t seed, const RandomTraceOptions& options);

}  // namespace deadheat::analysis
