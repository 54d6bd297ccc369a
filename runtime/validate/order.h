// On-demand happens-before (RaceMob 3.2.2), as reachability: one bit per watched access means
// "comes after it". The accessing thread has the bit; a release passes a thread's bits to the
// object, an acquire takes the object's. No clocks are needed: only what follows the watched access
// matters, and tracking begins there.
//
// Two sets travel together (thread.h): what is certainly ordered, and what uninstrumented code may
// have ordered. All regions share one object, so that a possible edge is never missed.
//
// Naive twin: vector clocks for everything, compared at the second access. The bits are equivalent
// for one watched access, because no event before it matters.
//
// While nothing is watched the callers only test `tracking`. Sets and objects belong to an epoch:
// the time from the first watch to the last; old ones count as empty.
#pragma once

#include "runtime/common/os.h"
#include "runtime/validate/thread.h"

namespace deadheat::runtime {

extern uint32_t tracking;  // number of watched accesses
inline bool is_tracking() { return __atomic_load_n(&tracking, __ATOMIC_RELAXED) != 0; }

extern Lock state_lock;  // guards watches, jobs, the list of threads and insertions of objects

void release(Thread& self, Address object);
void acquire(Thread& self, Address object);
// Of an atomic, or of something that the kernel has. Code that is not instrumented may use it, too:
// what such code told may be acquired by it, and what it releases may reach such code.
void release_atomic(Thread& self, Address object);
void acquire_atomic(Thread& self, Address object);
void release_relaxed(Thread& self,
                     Address object);  // a relaxed store: what the last fence released
void acquire_relaxed(Thread& self, Address object);  // a relaxed load: for the next fence
void fence(Thread& self, bool acquires, bool releases);

// Adds no edge: unseen_code() does that.
void region_begins(Thread& self, Address frame);
void region_ends(Thread& self);
void region_for_good(Thread& self);  // the thread begins in such code
void unseen_code(Thread& self);      // it may synchronise at this point

// With state_lock held.
void refresh(Thread& self);       // its sets belong to this epoch
void meet_regions(Thread& self);  // a thread inside a region may be ordered at any time
void begin_epoch();               // before the first watch
void objects_after_fork();
// Tells the watches that `self` is now ordered after these too.
void on_ordered(Thread& self, uint64_t bits);
// The table of objects is full: no edge may be missed, so every watch ends.
void on_lost_edges();
void look_at_clock(Thread& self);

}  // namespace deadheat::runtime
