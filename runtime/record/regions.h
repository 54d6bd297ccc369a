#pragma once

#include "runtime/common/reach.h"

namespace deadheat::runtime {

inline constexpr size_t kMaxRegions = 16;  // nested deeper, a region reaches everything

struct OpenRegion {
  ReachedSet reached;
  uint32_t calls = 0;  // entries of instrumented functions inside it, less exits
};

// Function entry and exit while a region is open.
void region_entry(Thread* self);
void region_exit(Thread* self);

}  // namespace deadheat::runtime
