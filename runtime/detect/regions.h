// Calls into uninstrumented code, and callbacks from it (RDIT).
//
// A region reaches objects: heap blocks, globals, pieces of stacks. At its begin, at its end, and
// where instrumented code inside it begins and ends, the thread acquires and then releases the
// clock of every reached object, so that regions that share an object are ordered as observed, even
// if they overlap.
#pragma once

#include "runtime/detect/threads.h"

namespace deadheat::runtime {

// The slow paths of hook_entry and hook_exit at the stack's limits: depth exhausted, or the border
// of a region.
void entry_slow(Thread& self, Address pc);
void exit_slow(Thread& self);

// Scans regions that the thread began while it was alone; it no longer is.
void scan_open_regions(Thread& self);

struct RegionCounters {
  uint64_t regions = 0;
  uint64_t reach_everything = 0;  // the scan's bound was hit
  uint64_t too_deep = 0;          // nested too deep: ordered with all
};
const RegionCounters& region_counters();

}  // namespace deadheat::runtime
