// A thread in validation: which watched accesses it is known to come after, the regions of
// uninstrumented code that it is in, and the locks that it holds while there are jobs.
#pragma once

#include "runtime/common/thread.h"

namespace deadheat::runtime {

inline constexpr uint32_t kMaxHeld = 16;     // more locks are counted but not compared
inline constexpr uint32_t kMaxRegions = 32;  // deeper ones count as permanently open

// A set of watched accesses, one bit each.
struct Reached {
  uint64_t ordered = 0;  // after them by visible synchronisation
  uint64_t maybe = 0;    // after them if invisible code synchronised wherever it could have
  bool any() const { return (ordered | maybe) != 0; }
};

struct Thread {
  ThreadCommon common;
  Thread *next = nullptr, *previous = nullptr;  // of all living threads
  uint32_t ignore_reads = 0, ignore_writes = 0, ignore_sync = 0;

  uint64_t word = 0;   // the thread's part of an access's word (infer.h)
  uint32_t epoch = 0;  // what `reached` belongs to (order.h)
  Reached reached;
  Reached at_release_fence, before_acquire_fence;
  uint32_t tracked = 0;  // synchronisation operations, for occasional clock checks

  // The stack position at the begin of each open region: a jump or exception that leaves a frame
  // closes its region.
  Address regions[kMaxRegions] = {};
  uint32_t region_count = 0;

  Address held[kMaxHeld] = {};
  uint32_t held_count = 0;
  uint32_t stretch = 0;  // in which they were noted (jobs.h)

  bool waits = false;  // held back by steering: a signal handler's accesses are then ignored
  uint32_t wakes = 0;  // the thread held back at this slot + 1 waits for our access to be made
  uint32_t wakes_turn = 0;
  uint64_t second_ns = 0;  // start of the second in which `stood_us` was spent
  uint32_t stood_us = 0;
};

}  // namespace deadheat::runtime
