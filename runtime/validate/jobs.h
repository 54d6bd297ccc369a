// Jobs, watches and steering: what happens at an access to a site that a job names.
//
// A job is a candidate in a wished order. The first of its accesses that is reached begins a watch
// of its bytes; an access of the other site there, by another thread, ends it: ordered after the
// first (NoRace) or not (Race). If the wished order is about to be missed, the thread is held back
// for at most tau; an access of the other site to the same bytes meanwhile is a race with both
// threads at their accesses, whatever the synchronisation.
//
// An answer only becomes stronger. A job is over when it is a race or a strong NoRace.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "runtime/validate/thread.h"

namespace deadheat::runtime {

struct Range {
  Address begin, end;
  bool write, atomic;
  bool overlaps(Address from, Address to) const { return begin < to && from < end; }
  // At least one changes the bytes, and not both are atomic.
  bool conflicts(const Range& other) const {
    return overlaps(other.begin, other.end) && (write || other.write) && !(atomic && other.atomic);
  }
};

// A job is active: locks are noted, and every lock and unlock checks (mode.h). Each new first job
// starts another stretch: locks noted in an earlier one may have been released.
inline bool jobs_active() { return __atomic_load_n(&production_work, __ATOMIC_RELAXED) != 0; }
extern uint32_t stretch;

void job_access(Thread& self, uint32_t site, const Range& bytes);
void job_access_made(Thread& self);
// A thread that is held back runs a signal's handler; leaves by a jump, or ends.
void pause_is_interrupted(Thread& self);
void pause_is_left(Thread& self);

void thread_begins(Thread& created, const Thread* parent);
void thread_is_over(Thread& ended);
void thread_was_joined(Thread& self, Thread& joined);
void memory_is_gone(Address begin, size_t size);
void jobs_after_fork(Thread& self);
inline uint64_t cycles() { return __builtin_ia32_rdtsc(); }

}  // namespace deadheat::runtime
