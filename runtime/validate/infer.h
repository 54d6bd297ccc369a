// Context inference (RaceMob 3.2.1): which sites are reached, by how many threads, and whether the
// two sites of a candidate ever touch the same bytes from different threads.
//
// Per site the last bytes and the last thread, in one word that is written only when it changes: a
// hot site of one thread writes nothing. Each change is compared with the last word of the site's
// partners, so two accesses that are both "last" at some time are seen; an overlap in between is
// missed, and comes again or does not matter.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "runtime/validate/thread.h"

namespace deadheat::runtime {

struct alignas(32) Record {
  uint64_t last;  // thread + 1 above, address below; 0: never reached
  uint32_t size;  // of the last access
  uint32_t changes;
  uint32_t partners;  // index of its first partner
  uint32_t partner_count;
};
extern Record* records;  // by site

inline constexpr uint64_t kAddressBits = 48;
inline constexpr uint64_t kAddressMask = (uint64_t{1} << kAddressBits) - 1;

// Thread numbers past 16 bits come round: two threads may then count as one.
inline uint64_t word_of(const Thread& self, Address begin) {
  return (uint64_t{self.common.number + 1} << kAddressBits) | (begin & kAddressMask);
}
// The same as last time: nothing to learn. The common case of a hot site.
inline bool is_known(const Thread& self, uint32_t site, Address begin) {
  return __atomic_load_n(&records[site].last, __ATOMIC_RELAXED) == word_of(self, begin);
}

bool infer_start();  // memory for the records of the registered list; false: none
void infer(Thread& self, uint32_t site, Address begin, size_t size);
bool is_promoted(uint32_t candidate);
void infer_after_fork();

}  // namespace deadheat::runtime
