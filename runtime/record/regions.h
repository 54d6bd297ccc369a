#pragma once

#include "runtime/common/reach.h"

namespace deadheat::runtime {

inline constexpr size_t kMaxRegions = 16;  // beyond this nesting depth, a region reaches everything

struct OpenRegion {
  ReachedSet reached;
  uint32_t calls = 0;  // entries of instrumented functions inside it, minus exits
};

// Function entry and exit while a region is open.
void region_entry(Thread* self);
void region_exit(Thread* self);

}  // namespace deadheat::runtime
