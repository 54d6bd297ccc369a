// Context inference (RaceMob 3.2.1): which sites are reached, by how many threads, and whether the
// two sites of a candidate ever touch the same bytes from different threads.
//
// Per site the last bytes and the last thread, in one word that is written only when it changes: a
// hot site of one thread writes nothing. Each change is compared with the last word of the site's
// partners, so two accesses that are both "last" at some time are seen; an overlap in between is
// missed, but recurs or does not matter.
//
// A site where the same thread touches the same bytes repeatedly yields nothing new: it rests
// on the off path until a partner changes, a thread is created or a validator asks (it does so
// every 100 ms; a site with a job never rests). Missed meanwhile: another thread that comes to a
// site at rest while no validator asks. Counted as `rested`.
//
// A site that changes with every access (it runs over an array) would cost all the time: it is left
// in the same way, but only a validator brings it back. Counted as `left_changing`.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "runtime/validate/thread.h"

namespace deadheat::runtime {

struct alignas(32) Record {
  uint64_t last;  // thread + 1 in the upper bits, address in the lower; 0: never reached
  uint32_t size;  // of the last access
  uint32_t changes;
  uint32_t partners;  // index of its first partner
  uint32_t partner_count;
  uint32_t patience;  // known accesses until it rests
  uint32_t rests;
};
extern Record* records;  // by site

inline constexpr uint64_t kAddressBits = 48;
inline constexpr uint64_t kAddressMask = (uint64_t{1} << kAddressBits) - 1;

// Thread numbers wrap beyond 16 bits: two threads may then count as one.
inline uint64_t word_of_thread(uint32_t number) { return uint64_t{number + 1} << kAddressBits; }
inline uint64_t word_of(const Thread& self, Address begin) {
  return self.word | (begin & kAddressMask);
}
// The same as last time: nothing to learn. The common case of a hot site; after `patience` of them
// it rests. An address beyond the mask is merely unknown.
inline bool is_known(const Thread& self, uint32_t site, Address begin) {
  Record& record = records[site];
  if (__atomic_load_n(&record.last, __ATOMIC_RELAXED) != (self.word | begin)) return false;
  return --record.patience != 0;  // two threads may share a count: harmless
}

// Wakes resting sites: a new thread may go there.
void look_again();
bool infer_start();  // memory for the records of the registered list; false: none
void infer(Thread& self, uint32_t site, Address begin, size_t size);
bool is_promoted(uint32_t candidate);
void infer_after_fork();

}  // namespace deadheat::runtime
