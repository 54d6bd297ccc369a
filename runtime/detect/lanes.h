// Compares the four slots of a cell at once: what an access finds there and where its own entry
// goes, as far as that needs no look-up and no call. check.cc and ranges.cc use it first.
#pragma once

#include <emmintrin.h>

#include "runtime/detect/shadow.h"
#include "runtime/detect/threads.h"

#define DEADHEAT_INLINE inline __attribute__((always_inline))

namespace deadheat::runtime {

using Lanes = __m128i;

DEADHEAT_INLINE Lanes all(Slot value) { return _mm_set1_epi32(static_cast<int>(value)); }
DEADHEAT_INLINE unsigned bits(Lanes lanes) {
  return static_cast<unsigned>(_mm_movemask_ps(_mm_castsi128_ps(lanes)));
}
DEADHEAT_INLINE Lanes load(const Slot* four) {
  return _mm_load_si128(reinterpret_cast<const Lanes*>(four));
}
DEADHEAT_INLINE void put(Slot* four, Slot value) {
  _mm_store_si128(reinterpret_cast<Lanes*>(four), all(value));
}
// All ones in each slot whose `compared` bits equal those of `value`.
DEADHEAT_INLINE Lanes equal(Lanes slots, Lanes value, Slot compared) {
  return _mm_cmpeq_epi32(_mm_and_si128(_mm_xor_si128(slots, value), all(compared)),
                         _mm_setzero_si128());
}
// All ones in each slot without any of these bits.
DEADHEAT_INLINE Lanes without(Lanes slots, Slot compared) {
  return _mm_cmpeq_epi32(_mm_and_si128(slots, all(compared)), _mm_setzero_si128());
}
// The slots that have this bit.
template <Slot kBit>
DEADHEAT_INLINE unsigned with(Lanes slots) {
  return bits(_mm_slli_epi32(slots, __builtin_clz(kBit)));
}
DEADHEAT_INLINE Lanes either(Lanes a, Lanes b) { return _mm_or_si128(a, b); }
DEADHEAT_INLINE Lanes but_not(Lanes a, Lanes b) { return _mm_andnot_si128(b, a); }

// What a thread knows without a look-up, in registers: for all the compiler knows, a loop over
// cells stores to memory that could be the thread's.
struct Known {
  Lanes own, unknown, below;
};
DEADHEAT_INLINE Known what_is_known(const Thread& self) {
  return {load(self.lanes.own), load(self.lanes.first_unknown), load(self.lanes.ordered_below)};
}

// Ordered before the thread without a look-up.
DEADHEAT_INLINE Lanes known_order(const Known& known, Lanes slots) {
  constexpr Slot kBatchBits = ~Slot{0} << (kIdShift + kBatchShift);
  const Lanes own = equal(slots, known.own, kBatchBits);
  const Lanes flipped = _mm_xor_si128(slots, all(kOrderSign));
  const Lanes older = _mm_cmpgt_epi32(known.unknown, flipped);
  const Lanes below = _mm_cmpgt_epi32(known.below, flipped);
  return either(either(own, older), but_not(below, equal(flipped, known.unknown, kBatchBits)));
}
DEADHEAT_INLINE Lanes known_order(const Thread& self, Lanes slots) {
  return known_order(what_is_known(self), slots);
}

// False: the thread was stopped, and its knowledge of the cell may be outdated. Checked before,
// so that no entry is overwritten, and after, so that none is missed. (If it is stopped in
// between, it may still overwrite one.) Two threads here on two processors within a few
// nanoseconds may miss each other; a locked instruction would cost a fifth of ocean's time
// (bench/overhead).
DEADHEAT_INLINE bool store(Thread& self, Cell& cell, unsigned place, Slot entry) {
  if (__builtin_expect(was_stopped(self.sequence), 0)) return watch_stops(self.sequence);
  store_slot(cell.slots[place], entry);
  if (__builtin_expect(was_stopped(self.sequence), 0)) return watch_stops(self.sequence);
  return true;
}

// Threads here at the same moment should not take the same slot.
DEADHEAT_INLINE unsigned preferred_place(const Thread& self, unsigned free) {
  const unsigned preferred = free & 1U << self.slot % kCellSlots;
  return static_cast<unsigned>(__builtin_ctz(preferred != 0 ? preferred : free));
}

// One granule, all four slots at once. An entry is
//   covering  of this tick, and says all that the new one says: nothing to do
//   old       known to be ordered before the new one without a look-up: the thread's own of the
//             last ticks (by their batch), anybody's below `ordered_below`, an empty slot
//   useless   old and subsumed by the new one: its place is taken
//   same      of this tick and kind: the new one is merged with it (check.cc)
enum class Looked : uint8_t {
  kDone,
  kAgain,  // a conflict that is not old: look it up; or another thread was here meanwhile
  kFull    // no useless one: a slot must be found
};

struct Sorted {
  unsigned old, conflicts, useless;  // one bit per slot
};

DEADHEAT_INLINE bool is_covered(Lanes slots, Slot mine, Slot mask, Slot flags) {
  const Slot write = flags & kWriteBit;
  const Slot compared = kIdBits | write | ((flags & kAtomicBit) ^ kAtomicBit) | mask;
  return bits(equal(slots, all(mine | write | mask), compared)) != 0;
}

DEADHEAT_INLINE Sorted sort_slots(const Known& known, Lanes slots, Slot mask, Slot flags) {
  const unsigned old = bits(known_order(known, slots));
  const unsigned reads = ~with<kWriteBit>(slots);
  unsigned harmless = old, useless = old;
  if (mask != kMaskBits) {
    harmless |= bits(without(slots, mask));
    useless &= bits(without(slots, kMaskBits & ~mask));
  }
  if ((flags & kWriteBit) == 0) harmless |= reads, useless &= reads;
  if ((flags & kAtomicBit) != 0) {
    const unsigned atomics = with<kAtomicBit>(slots);
    harmless |= atomics;
    useless &= atomics;
  }
  return {old, 0xf & ~harmless, useless};
}

// Without a call, so that the common path need not save registers.
DEADHEAT_INLINE Looked look_quickly(Thread& self, const Known& known, Cell& cell, Lanes slots,
                                    Slot mine, Slot mask, Slot flags) {
  const Sorted sorted = sort_slots(known, slots, mask, flags);
  if (__builtin_expect(sorted.conflicts != 0, 0)) return Looked::kAgain;
  if (__builtin_expect(sorted.useless == 0, 0)) return Looked::kFull;
  return store(self, cell, preferred_place(self, sorted.useless), mine | flags | mask)
             ? Looked::kDone
             : Looked::kAgain;
}
template <bool kMayBeCovered>
DEADHEAT_INLINE Looked look_quickly(Thread& self, Cell& cell, Slot mask, Slot flags) {
  const Slot mine = self.epoch << kIdShift;
  const Lanes slots = load(cell.slots);
  if (kMayBeCovered && is_covered(slots, mine, mask, flags)) return Looked::kDone;
  return look_quickly(self, what_is_known(self), cell, slots, mine, mask, flags);
}

}  // namespace deadheat::runtime
