// Loops that a thread checked in its current tick, so that one that runs again over the same
// elements (a row of a matrix, for each column of the other one) is done without a look at its
// cells.
//
// Equivalent as far as the cells keep what the first check stored: a second access of the same
// kind, bytes, thread and tick races with nothing that the first does not race with, as everywhere
// (compiler/pass/drop_checks.cc). What may be gone: entries that other threads pushed out of full
// cells (counted there), which the cells' own check would put back. So each kEvery-th time the
// cells are looked at all the same. What the thread itself makes forgotten (memory that it frees or
// gets) and what is forgotten for all makes its loops unseen.
//
// A look at the table is a miss of the cache where loops do not run again in their tick (a tenth of
// ocean): after kMostMisses in a row only each kTryEvery-th loop is looked for, until one is found.
#pragma once

#include "runtime/detect/threads.h"

namespace deadheat::runtime {

struct LoopRange {
  Address lowest;
  uint64_t count, distance;
  size_t size;  // below 256
  Slot write;   // kWriteBit or none
};

struct SeenLoop {
  Address lowest;
  uint64_t count, distance;
  uint64_t rest;  // generation 32, epoch 22, kind and size
};

inline constexpr unsigned kSeenLoopsShift = 12;
inline constexpr uint32_t kEvery = 32;
inline constexpr uint32_t kMostMisses = 256;
inline constexpr uint32_t kTryEvery = 16;

inline uint64_t rest_of(const Thread& self, const LoopRange& loop) {
  const uint32_t generation =
      self.forgotten + __atomic_load_n(&forgotten_for_all, __ATOMIC_RELAXED);
  return uint64_t{generation} << 32 | self.epoch << kIdShift | loop.write | loop.size;
}

inline SeenLoop& place_of(const Thread& self, const LoopRange& loop) {
  const uint64_t mixed = (loop.lowest ^ loop.distance << 20 ^ loop.count << 40 ^ loop.write << 8) *
                         0x9e3779b97f4a7c15ULL;
  return self.seen_loops[mixed >> (64 - kSeenLoopsShift)];
}

inline bool was_seen(Thread& self, const LoopRange& loop) {
  if (self.seen_loops == nullptr) return false;
  const uint32_t misses = ++self.loops_unseen;
  if (misses > kMostMisses && misses % kTryEvery != 0) return false;
  const SeenLoop& place = place_of(self, loop);
  if (place.lowest != loop.lowest || place.rest != rest_of(self, loop) ||
      place.count != loop.count || place.distance != loop.distance)
    return false;
  self.loops_unseen = 0;
  return ++self.loops_again % kEvery != 0;
}

inline void has_seen(Thread& self, const LoopRange& loop) {
  constexpr size_t kBytes = sizeof(SeenLoop) << kSeenLoopsShift;
  if (self.seen_loops == nullptr)
    self.seen_loops = static_cast<SeenLoop*>(arena_allocate(kBytes));  // zero: no loop
  if (self.seen_loops == nullptr) return;
  place_of(self, loop) = {loop.lowest, loop.count, loop.distance, rest_of(self, loop)};
}

inline void free_seen_loops(Thread& self) {
  if (self.seen_loops != nullptr) arena_free(self.seen_loops, sizeof(SeenLoop) << kSeenLoopsShift);
  self.seen_loops = nullptr;
}

}  // namespace deadheat::runtime
