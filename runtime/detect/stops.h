// Whether the thread was stopped since it last asked to be told: preempted, moved to another
// processor, or interrupted by a signal. While it stood still others may have been where it was
// about to write.
//
// Uses restartable sequences without their restarting: the kernel forgets the sequence that a
// thread says it is in as soon as it stops the thread outside of it. Ours has no instruction, so it
// always is outside. Costs a compare. Without rseq (glibc before 2.35, or switched off)
// nobody is told of anything.
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

// Since it last said watch_stops().
inline bool was_stopped(const volatile uint64_t* sequence) {
  return *sequence != reinterpret_cast<uint64_t>(&no_sequence);
}
inline bool watch_stops(volatile uint64_t* sequence) {  // false, for the caller to return
  *sequence = reinterpret_cast<uint64_t>(&no_sequence);
  return false;
}

}  // namespace deadheat::runtime
