// How regions are ordered with each other and with the synchronisation that we see.
//
// A region may use whatever it reaches to synchronise: with other regions that reach the same, but
// also with instrumented code, through a lock or atomic variable that lies in a reached object and
// that the other side operates in our sight. So at every border of a region (begin, end, and where
// instrumented code runs inside it)
//
//   acquire  the clock of every reached object, and of every lock and the like that lies in one;
//   release  the clock of every reached object;
//
// and what acquires in our sight also acquires the clock of the object that it lies in. One that
// reaches everything acquires what all threads have released, and releases to everybody.
#pragma once

#include "runtime/common/reach.h"
#include "runtime/common/segment_map.h"
#include "runtime/detect/threads.h"

namespace deadheat::runtime {

extern bool region_clocks_used;  // there was a region

// set == null: everything.
void synchronise_region(Thread& self, const ReachedSet* set);

// After an operation that we saw may have taken its order from one that we did not see.
void acquire_from_regions_slow(Thread& self, Address object);
inline void acquire_from_regions(Thread& self, Address object) {
  if (__builtin_expect(region_clocks_used, 0)) acquire_from_regions_slow(self, object);
}

}  // namespace deadheat::runtime
