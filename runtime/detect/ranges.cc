// Accesses of many bytes: memory functions, structures, vectors, and loops that the compiler pass
// checks at once (compiler/pass/loop_checks.cc).
//
// Most of a long range was already accessed in this tick, or all known about it is old: whole cells
// then need no call. The rest is handled like a single access, and for a loop like its single
// accesses, so that a report names one.
#include "runtime/common/options.h"
#include "runtime/detect/check.h"
#include "runtime/detect/lanes.h"
#include "runtime/detect/record_history.h"
#include "runtime/detect/seen_loops.h"
#include "runtime/detect/strands.h"

namespace deadheat::runtime {

namespace {

uint64_t unshadowed;

uint64_t history_flags(const AccessInfo& access) {
  return ((access.flags & kWriteBit) != 0 ? kHistoryWrite : 0) |
         ((access.flags & kAtomicBit) != 0 ? kHistoryAtomic : 0) |
         (access.freed ? kHistoryFree : 0);
}

// Processes cells in sequence as far as that settles them. Its loops make no calls, so that
// everything they need stays in registers.
template <Slot kFlags>
class CellSweep {
 public:
  CellSweep(Thread& self, Slot mask)
      : self_(self),
        mine_(self.epoch << kIdShift),
        mask_(mask),
        wanted_(all(mine_ | (kFlags & kWriteBit) | mask)),
        compared_(all(kIdBits | (kFlags ^ kAtomicBit) | mask)),
        known_(what_is_known(self)) {}

  DEADHEAT_INLINE Looked look(Cell& cell) const {
    const Lanes slots = load(cell.slots);
    const Lanes differs = _mm_and_si128(_mm_xor_si128(slots, wanted_), compared_);
    if (bits(_mm_cmpeq_epi32(differs, _mm_setzero_si128())) != 0) return Looked::kDone;
    if (bits(_mm_cmpeq_epi32(slots, _mm_setzero_si128())) == 0xf) {
      store_slot(cell.slots[0], mine_ | kFlags | mask_);
      return Looked::kDone;
    }
    return look_quickly(self_, known_, cell, slots, mine_, mask_, kFlags);
  }

 private:
  Thread& self_;
  const Slot mine_, mask_;
  const Lanes wanted_, compared_;
  const Known known_;
};

// The first cell that is not settled at once, and why.
struct Stopped {
  uint64_t at;
  Looked why;
};

// Whole granules.
template <Slot kFlags>
__attribute__((noinline)) Stopped settle(Thread& self, Cell* cell, size_t count) {
  const CellSweep<kFlags> sweep(self, kMaskBits);
  for (size_t i = 0; i < count; ++i)
    if (const Looked looked = sweep.look(cell[i]); looked != Looked::kDone) return {i, looked};
  return {count, Looked::kDone};
}

// Calls `slow(cell, address)` for each whole granule of one segment that is not settled at
// once.
template <Slot kFlags, typename Slow>
DEADHEAT_INLINE void check_whole(Thread& self, Cell* cell, size_t count, Address at, Slow slow) {
  for (size_t i = 0; i < count; ++i) {
    const Stopped stopped = settle<kFlags>(self, cell + i, count - i);
    i += stopped.at;
    if (i == count) return;
    if (stopped.why == Looked::kFull && (kFlags & kAtomicBit) == 0)
      store_full(self, cell[i], self.epoch << kIdShift | kFlags | kMaskBits);
    else
      slow(cell[i], at + i * 8);
  }
}

template <typename Slow>
DEADHEAT_INLINE void check_whole(Thread& self, Cell* cell, size_t count, Address at, Slot flags,
                                 Slow slow) {
  switch (flags) {
    case 0:
      return check_whole<0>(self, cell, count, at, slow);
    case kWriteBit:
      return check_whole<kWriteBit>(self, cell, count, at, slow);
    default:
      return check_whole < kWriteBit | kAtomicBit > (self, cell, count, at, slow);
  }
}

// Calls `part(cell, begin, end)` for parts that do not fill a granule, or are not settled at
// once.
template <typename Part>
DEADHEAT_INLINE void check_range(Thread& self, Address begin, Address end, Slot flags, Part part) {
  for (Address at = begin; at < end;) {
    char* const segment = touch_shadow(at);
    if (segment == nullptr) {
      __atomic_fetch_add(&unshadowed, 1, __ATOMIC_RELAXED);
      return;
    }
    Cell* const cell = cell_in(segment, at);
    const Address next = (at & ~Address{7}) + 8;
    if ((at & 7) != 0 || next > end) {
      part(*cell, at, next < end ? next : end);
      at = next;
      continue;
    }
    const Address segment_end = ((at >> kSegmentShift) + 1) << kSegmentShift;
    const Address stop = (end < segment_end ? end : segment_end) & ~Address{7};
    check_whole(self, cell, (stop - at) / 8, at, flags,
                [&](Cell& one, Address from) { part(one, from, from + 8); });
    at = stop;
  }
}

// The first byte of [begin, end) that the thread did not access in this way in this tick. Bytes
// that it did need no history either.
template <Slot kFlags>
__attribute__((noinline)) Address skip_covered(const Thread& self, Address begin, Address end) {
  const Lanes mine = all(self.epoch << kIdShift | kFlags | kMaskBits);
  const Lanes compared = all(kIdBits | kAtomicBit | kFlags | kMaskBits);
  const Address last = end - 1;
  if (begin >> kSegmentShift != last >> kSegmentShift) return begin;
  const Cell* cell = peek_cell(begin);
  Address at = begin & ~Address{7};
  const auto covered = [&](Slot mask) {
    return bits(equal(load(cell->slots), mine, kIdBits | kAtomicBit | kFlags | mask)) != 0;
  };
  if (at != begin || at + 8 > end) {
    const Address stop = at + 8 < end ? at + 8 : end;
    if (!covered(granule_mask(begin, stop - begin))) return begin;
    at += 8;
    ++cell;
  }
  for (; at + 8 <= end; at += 8, ++cell) {
    const Lanes differs = _mm_and_si128(_mm_xor_si128(load(cell->slots), mine), compared);
    if (bits(_mm_cmpeq_epi32(differs, _mm_setzero_si128())) == 0) return at;
  }
  if (at >= end) return end;
  return covered(granule_mask(at, end - at)) ? end : at;
}
Address skip_covered(const Thread& self, Address begin, Address end, bool write) {
  return write ? skip_covered<kWriteBit>(self, begin, end) : skip_covered<0>(self, begin, end);
}

// `count` accesses of `size` bytes each, `distance` apart.
constexpr size_t kLargestTurn = 255;
struct Turns {
  Address lowest;
  size_t size;
  uint64_t count, distance;
};

// The bytes of [begin, end), in one granule, that the turns touch, in order.
__attribute__((noinline)) void check_turns_in(Thread& self, Cell& cell, Address begin, Address end,
                                              const Turns& turns, Address pc, Slot flags) {
  const Address from_lowest = begin - turns.lowest;
  uint64_t turn = from_lowest < turns.size ? 0 : (from_lowest - turns.size) / turns.distance + 1;
  for (; turn < turns.count; ++turn) {
    const Address address = turns.lowest + turn * turns.distance;
    if (address >= end) return;
    const Address first = address < begin ? begin : address;
    const Address past = address + turns.size < end ? address + turns.size : end;
    if (past <= first) continue;
    check_cell(self, cell, first, granule_mask(first, past - first),
               {address, turns.size, pc, flags});
  }
}

// Whether each turn has the same bytes of its granules: a part of one, or some whole ones.
bool are_alike(const Turns& turns) {
  if (turns.distance % 8 != 0) return false;
  const size_t first = turns.lowest & 7;
  return first + turns.size <= 8 || (first == 0 && turns.size % 8 == 0);
}

// Turns that are alike, from `turn` on.
template <Slot kFlags>
__attribute__((noinline)) Stopped settle(Thread& self, const Turns& turns, uint64_t turn) {
  const Slot mask = granule_mask(turns.lowest, turns.size);
  const CellSweep<kFlags> sweep(self, mask);
  const size_t cells = turns.size <= 8 ? 1 : turns.size / 8;
  constexpr uint64_t kSegmentEnd = (uint64_t{1} << kSegmentShift) - kLargestTurn;
  while (turn < turns.count) {
    const Address address = turns.lowest + turn * turns.distance;
    char* const segment = peek_shadow(address);
    const uint64_t first = static_cast<uint32_t>(address);
    if (segment == no_shadow || first >= kSegmentEnd) return {turn, Looked::kAgain};
    // All remaining turns if they are in one segment; otherwise one by one.
    const uint64_t left = turns.count - turn;
    const uint64_t stop = first + left * turns.distance < kSegmentEnd ? turns.count : turn + 1;
    auto* cell = cell_in(segment, address);
    const uint64_t step = turns.distance / 8;
    for (; turn < stop; ++turn, cell += step) {
      for (size_t i = 0; i < cells; ++i)
        if (const Looked looked = sweep.look(cell[i]); looked != Looked::kDone)
          return {turn, cells == 1 ? looked : Looked::kAgain};
    }
  }
  return {turn, Looked::kDone};
}

// With gaps between the turns.
template <Slot kFlags>
void check_apart(Thread& self, const Turns& turns, Address pc) {
  const bool alike = are_alike(turns);
  for (uint64_t turn = 0; turn < turns.count; ++turn) {
    Looked why = Looked::kAgain;
    if (alike) {
      const Stopped stopped = settle<kFlags>(self, turns, turn);
      if (stopped.at == turns.count) return;
      turn = stopped.at;
      why = stopped.why;
    }
    const Address address = turns.lowest + turn * turns.distance;
    if (why == Looked::kFull)
      store_full(self, *cell_in(peek_shadow(address), address),
                 self.epoch << kIdShift | kFlags | granule_mask(address, turns.size));
    else
      check_bytes(self, address, address + turns.size, {address, turns.size, pc, kFlags});
  }
}

}  // namespace

bool is_covered(const Thread& self, Address begin, size_t size, bool write) {
  return skip_covered(self, begin, begin + size, write) == begin + size;
}

// An entry must never be without its history: another thread may look for it at once.
void check_access(Thread& self, const AccessInfo& access) {
  if (access.address - self.watched_begin < self.watched_size) bind_strand(self);
  history_access(self, access.pc, access.address, access.size, history_flags(access));
  check_bytes(self, access.address, access.address + access.size, access);
}

void check_bytes(Thread& self, Address begin, Address end, const AccessInfo& access) {
  check_range(self, begin, end, access.flags, [&](Cell& cell, Address from, Address to) {
    const Slot mask = granule_mask(from, to - from);
    if (look_quickly<true>(self, cell, mask, access.flags) != Looked::kDone)
      check_cell(self, cell, from, mask, access);
  });
}

// False: each turn has to be checked individually.
bool mode_check_loop(Address begin, int64_t stride, uint64_t count, size_t size, bool write,
                     Address pc) {
  constexpr uint64_t kMostBytes = uint64_t{1} << 40;
  if (runtime_options().loops == 0 || count == 0 || count > kMostBytes) return false;
  Thread* const thread = hot.storing;
  if (thread == nullptr) return true;  // alone, or told to ignore accesses
  Thread& self = *thread;
  if (self.watched_size != 0) return false;  // a task's: each access may bind it to its thread
  const uint64_t distance = static_cast<uint64_t>(stride < 0 ? -stride : stride);
  uint64_t bytes = 0;
  if (__builtin_mul_overflow(distance, count, &bytes) || bytes > kMostBytes) return false;
  const Slot flags = write ? kWriteBit : 0;
  const Busy busy(self);
  if (distance == 0) {
    check_access(self, {begin, size, pc, flags});
    return true;
  }
  const Turns turns = {stride < 0 ? begin - (count - 1) * distance : begin, size, count, distance};
  const LoopRange loop = {turns.lowest, count, distance, size, flags};
  if (was_seen(self, loop)) return true;
  const bool dense = distance <= size;
  const Address end = turns.lowest + (count - 1) * distance + size;
  const Address from = dense ? skip_covered(self, turns.lowest, end, write) : turns.lowest;
  if (from == end) {
    has_seen(self, loop);
    return true;
  }
  history_loop(self, pc, turns.lowest, size, count, distance, write ? kHistoryWrite : 0);
  if (dense) {
    check_range(self, from, end, flags, [&](Cell& cell, Address part, Address to) {
      check_turns_in(self, cell, part, to, turns, pc, flags);
    });
  } else if (write) {
    check_apart<kWriteBit>(self, turns, pc);
  } else {
    check_apart<0>(self, turns, pc);
  }
  has_seen(self, loop);
  return true;
}

uint64_t unshadowed_accesses() { return unshadowed; }

}  // namespace deadheat::runtime
