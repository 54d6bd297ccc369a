// How regions are ordered with each other and with visible synchronisation.
//
// A region may synchronise through anything it reaches: with other regions that reach the same, but
// also with instrumented code, through a lock or atomic variable inside a reached object that the
// other side operates visibly. So at every border of a region (begin, end, and where instrumented
// code runs inside it)
//
//   acquire  the clock of every reached object, and of every lock and the like that lies in one;
//   release  the clock of every reached object;
//
// and a visible acquire also acquires the clock of the object that contains it. A region that
// reaches everything acquires what all threads have released, and releases to all.
#pragma once

#include "runtime/common/reach.h"
#include "runtime/common/segment_map.h"
#include "runtime/detect/threads.h"

namespace deadheat::runtime {

extern bool region_clocks_used;  // a region has existed

// set == null: everything.
void synchronise_region(Thread& self, const ReachedSet* set);

// After a visible operation that may have taken its order from an invisible one.
void acquire_from_regions_slow(Thread& self, Address object);
inline void acquire_from_regions(Thread& self, Address object) {
  if (__builtin_expect(region_clocks_used, 0)) acquire_from_regions_slow(self, object);
}

}  // namespace deadheat::runtime
