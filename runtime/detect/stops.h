// Whether the thread was stopped since it last called watch_stops(): preempted, moved to another
// processor, or interrupted by a signal. Meanwhile others may have been where it was about to
// write.
//
// Uses restartable sequences without the restart: when the kernel stops a thread outside the
// sequence that it has registered, it clears the registration. Our sequence has no instructions, so
// the thread is always outside. Costs a compare. Without rseq (glibc before 2.35, or switched off)
// no stop is noticed.
#pragma once

#include <stdint.h>

namespace deadheat::runtime {

struct alignas(32) Sequence {  // struct rseq_cs
  uint32_t version, flags;
  uint64_t begin, size, abort;
};
extern const Sequence no_sequence;

// The calling thread's rseq_cs.
volatile uint64_t* own_sequence();

// Since its last watch_stops().
inline bool was_stopped(const volatile uint64_t* sequence) {
  return *sequence != reinterpret_cast<uint64_t>(&no_sequence);
}
inline bool watch_stops(volatile uint64_t* sequence) {  // false, for the caller to return
  *sequence = reinterpret_cast<uint64_t>(&no_sequence);
  return false;
}

}  // namespace deadheat::runtime
