#include "runtime/detect/check.h"

#include "runtime/detect/lanes.h"
#include "runtime/detect/record_history.h"
#include "runtime/detect/report.h"
#include "runtime/detect/strands.h"

namespace deadheat::runtime {

namespace {

// `stronger` includes `weaker`: any access that races with the weaker one, at the same time and
// bytes, also races with the stronger one.
bool subsumes(Slot stronger, Slot weaker) {
  return (weaker & kMaskBits & ~stronger) == 0 && (weaker & kWriteBit & ~stronger) == 0 &&
         (stronger & kAtomicBit & ~weaker) == 0;
}

bool conflict(Slot a, Slot b) {
  return (a & b & kMaskBits) != 0 && ((a | b) & kWriteBit) != 0 && (a & b & kAtomicBit) == 0;
}

DEADHEAT_INLINE bool is_ordered(const Thread& self, Slot found) {
  const EpochEntry past = epoch_entry(found >> kIdShift);
  return past.slot == self.slot || self.clock.get(past.slot) >= past.tick;
}

// Of the thread's own entries `own`, the one whose loss costs least: an atomic access conflicts
// with less than a plain one, a read with less than a write.
DEADHEAT_INLINE unsigned least_of(Lanes slots, unsigned own) {
  const unsigned atomics = own & with<kAtomicBit>(slots);
  const unsigned weak = atomics != 0 ? atomics : own;
  const unsigned reads = weak & ~with<kWriteBit>(slots);
  return static_cast<unsigned>(__builtin_ctz(reads != 0 ? reads : weak));
}

// Chooses a victim in a full cell where the new entry makes none superfluous. The smallest loss is
// an entry of another thread ordered before the new one: of two threads, neither can race with it
// any more. Next comes the thread's own: with a flag and data in one granule, two reads of the flag
// would otherwise evict the read of the data between them. Next a read. Among reads any will do:
// the history's position is random enough.
__attribute__((noinline)) unsigned choose_unknown(Thread& self, const Cell& cell, Lanes slots,
                                                  unsigned own) {
  const unsigned first = (reinterpret_cast<uintptr_t>(self.history.at) >> 4) % kCellSlots;
  const unsigned writes = with<kWriteBit>(slots);
  unsigned victim = first;
  for (unsigned n = 0; n < (writes == 0 ? 1 : kCellSlots); ++n) {
    const unsigned i = (first + n) % kCellSlots;
    if ((own >> i & 1) != 0) continue;
    if (is_ordered(self, load_slot(cell.slots[i]))) return i;
    if ((writes >> i & 1) == 0) victim = i;
  }
  if (own != 0) return least_of(slots, own);
  ++self.evicted;
  return victim;
}
DEADHEAT_INLINE unsigned choose_victim(Thread& self, const Cell& cell, Lanes slots, unsigned old) {
  constexpr Slot kBatchBits = ~Slot{0} << (kIdShift + kBatchShift);
  const unsigned own = bits(equal(slots, load(self.lanes.own), kBatchBits));
  if ((old & ~own) != 0) return static_cast<unsigned>(__builtin_ctz(old & ~own));
  return choose_unknown(self, cell, slots, own);
}

struct Conflict {
  const Cell& cell;
  Slot found;
  Slot asked;
  Address at;
};

// Fresh memory (on_fresh, an atomic write) that its owner has written since: report the owner's
// later plain write instead; it is the more useful of the two.
bool said_better(const Conflict& conflicting) {
  constexpr Slot kBatchBits = ~Slot{0} << (kIdShift + kBatchShift);
  if ((~conflicting.found & (kWriteBit | kAtomicBit)) != 0) return false;
  for (const Slot& slot : conflicting.cell.slots) {
    const Slot other = load_slot(slot);
    if (((other ^ conflicting.found) & kBatchBits) == 0 && (other & kAtomicBit) == 0 &&
        (other & kWriteBit) != 0 && conflict(other, conflicting.asked))
      return true;
  }
  return false;
}

__attribute__((noinline, cold)) void report(Thread& self, const Conflict& conflicting,
                                            const AccessInfo& access) {
  // Unless the slot has changed meanwhile.
  if (conflict(conflicting.found, conflicting.asked) && !said_better(conflicting))
    report_race(self, conflicting.at & ~Address{7}, conflicting.asked & kMaskBits,
                conflicting.found, access);
}

// A single-stepping debugger stops it every time.
constexpr unsigned kMostLooks = 4;

// False: another thread was in the cell meanwhile, and nothing was stored.
template <bool kMayBeCovered>
DEADHEAT_INLINE bool check_granule(Thread& self, Cell& cell, Slot mask, Slot flags, Address at,
                                   Address address, size_t size, Address pc, bool freed) {
  const Slot atomic = flags & kAtomicBit;
  const Slot mine = self.epoch << kIdShift;
  const Slot asked = mine | flags | mask;
  const Lanes slots = load(cell.slots);
  if (kMayBeCovered && is_covered(slots, mine, mask, flags)) return true;
  const Sorted sorted = sort_slots(what_is_known(self), slots, mask, flags);
  unsigned conflicts = sorted.conflicts;
  unsigned free = sorted.useless;
  for (; conflicts != 0; conflicts &= conflicts - 1) {
    const auto i = static_cast<unsigned>(__builtin_ctz(conflicts));
    const Slot found = load_slot(cell.slots[i]);
    if (__builtin_expect(!is_ordered(self, found), 0)) {
      report(self, {cell, found, asked, at}, {address, size, pc, flags, freed});
      continue;
    }
    if (subsumes(asked, found)) free |= 1U << i;
    if (__builtin_expect(--self.until_order == 0, 0)) learn_order(self);
  }
  Slot entry = asked;
  if (free == 0 && (mask != kMaskBits || atomic != 0)) {
    free = bits(equal(slots, all(asked), kIdBits | kWriteBit | kAtomicBit));
    if (free != 0) {
      entry |= load_slot(cell.slots[__builtin_ctz(free)]) & kMaskBits;
    } else if (atomic != 0) {
      free = bits(without(slots, ~Slot{0}));
    }
  }
  const unsigned place = __builtin_expect(free == 0, 0)
                             ? choose_victim(self, cell, slots, sorted.old)
                             : preferred_place(self, free);
  return store(self, cell, place, entry);
}

// Two granules, or a caller that did not look, may find the first one covered.
template <unsigned kSize, bool kWrite, bool kMayBeCovered>
__attribute__((noinline)) void look_up_plain(Thread& self, Cell& cell, Address at, Address address,
                                             Address pc) {
  const Slot mask = kSize >= 8 ? kMaskBits : granule_bytes(address & 7, kSize);
  const Slot flags = kWrite ? kWriteBit : 0;
  for (unsigned i = 0; i < kMostLooks; ++i)
    if (check_granule<kMayBeCovered>(self, cell, mask, flags, at, address, kSize, pc, false))
      return;
}

template <unsigned kSize, bool kWrite, bool kMayBeCovered>
DEADHEAT_INLINE void check_one(Thread& self, Cell& cell, Lanes slots, Address at, Address address,
                               Address pc) {
  const Slot mask = kSize >= 8 ? kMaskBits : granule_bytes(address & 7, kSize);
  const Slot flags = kWrite ? kWriteBit : 0;
  const Slot mine = self.epoch << kIdShift;
  const Looked looked = look_quickly(self, what_is_known(self), cell, slots, mine, mask, flags);
  if (__builtin_expect(looked == Looked::kDone, 1)) return;
  if (looked == Looked::kFull) return store_full(self, cell, mine | flags | mask);
  look_up_plain<kSize, kWrite, kMayBeCovered>(self, cell, at, address, pc);
}

template <unsigned kSize, bool kWrite>
__attribute__((noinline, cold)) void check_unusual(Thread& self, Address address, Address pc) {
  check_access(self, {address, kSize, pc, kWrite ? kWriteBit : 0});
}

// Both granules are looked at before the history is written, so that their loads overlap.
template <bool kWrite>
DEADHEAT_INLINE void check_two(Thread& self, Cell* cell, Address address, Address pc) {
  const Slot flags = kWrite ? kWriteBit : 0;
  const Slot mine = self.epoch << kIdShift;
  const Lanes first = load(cell[0].slots), second = load(cell[1].slots);
  const bool first_done = is_covered(first, mine, kMaskBits, flags);
  const bool second_done = is_covered(second, mine, kMaskBits, flags);
  if (first_done && second_done) return;
  history_access_small(self, pc, address, 16, kWrite ? kHistoryWrite : 0);
  if (!second_done) check_one<16, kWrite, true>(self, cell[1], second, address + 8, address, pc);
  if (!first_done) check_one<16, kWrite, true>(self, cell[0], first, address, address, pc);
}

}  // namespace

template <unsigned kSize, bool kWrite, bool kMayBeCovered>
void check_plain(Address address, Address pc) {
  Thread* const thread = hot.storing;
  if (__builtin_expect(thread == nullptr, 0)) return;
  Thread& self = *thread;
  char* const segment = peek_shadow(address);
  const bool whole = kSize >= 8 ? (address & 7) == 0 : (address & 7) + kSize <= 8;
  // No call in the middle, so that the common path need not save registers.
  if (__builtin_expect(address - self.watched_begin < self.watched_size || segment == no_shadow ||
                           !whole || self.history.at >= self.history.limit,
                       0))
    return check_unusual<kSize, kWrite>(self, address, pc);
  Cell* const cell = cell_in(segment, address);
  if constexpr (kSize == 16) {
    // The second granule of the last 8 bytes of a segment is in the next one.
    if (__builtin_expect(static_cast<uint32_t>(address) == ~7U, 0))
      return check_unusual<kSize, kWrite>(self, address, pc);
    return check_two<kWrite>(self, cell, address, pc);
  } else {
    const Lanes slots = load(cell->slots);
    if (kMayBeCovered) {
      constexpr Slot kKind = kIdBits | kAtomicBit | (kWrite ? kWriteBit : 0);
      const Slot mask = kSize >= 8 ? kMaskBits : granule_bytes(address & 7, kSize);
      if (bits(equal(slots, load(kWrite ? hot.write : hot.read), kKind | mask)) != 0) return;
    }
    history_access_small(self, pc, address, kSize, kWrite ? kHistoryWrite : 0);
    check_one<kSize, kWrite, kMayBeCovered>(self, *cell, slots, address, address, pc);
  }
}
#define DEADHEAT_CHECKS(size)                                      \
  template void check_plain<size, false, false>(Address, Address); \
  template void check_plain<size, false, true>(Address, Address);  \
  template void check_plain<size, true, false>(Address, Address);  \
  template void check_plain<size, true, true>(Address, Address);
DEADHEAT_CHECKS(1)
DEADHEAT_CHECKS(2)
DEADHEAT_CHECKS(4)
DEADHEAT_CHECKS(8)
DEADHEAT_CHECKS(16)
#undef DEADHEAT_CHECKS

void store_full(Thread& self, Cell& cell, Slot asked) {
  const Lanes slots = load(cell.slots);
  const unsigned same = bits(equal(slots, all(asked), kIdBits | kWriteBit | kAtomicBit));
  const unsigned place = same != 0
                             ? static_cast<unsigned>(__builtin_ctz(same))
                             : choose_victim(self, cell, slots, bits(known_order(self, slots)));
  const Slot merged = same != 0 ? load_slot(cell.slots[place]) & kMaskBits : 0;
  store_slot(cell.slots[place], asked | merged);
}

void check_small(Thread& self, Address address, size_t size, Address pc, Slot flags) {
  char* const segment = peek_shadow(address);
  if (__builtin_expect(address - self.watched_begin < self.watched_size || segment == no_shadow ||
                           self.history.at >= self.history.limit,
                       0))
    return check_access(self, {address, size, pc, flags});
  const uint64_t kind = ((flags & kWriteBit) != 0 ? kHistoryWrite : 0) |
                        ((flags & kAtomicBit) != 0 ? kHistoryAtomic : 0);
  history_access_small(self, pc & kHistoryAddress, address, size, kind);
  const Slot mask = granule_mask(address, size);
  Cell& cell = *cell_in(segment, address);
  if (bits(without(load(cell.slots), ~Slot{0})) == 0xf)
    return store_slot(cell.slots[0], self.epoch << kIdShift | flags | mask);
  for (unsigned i = 0; i < kMostLooks; ++i)
    if (check_granule<true>(self, cell, mask, flags, address, address, size, pc, false)) return;
}

void check_cell(Thread& self, Cell& cell, Address granule, Slot mask, const AccessInfo& access) {
  for (unsigned i = 0; i < kMostLooks; ++i)
    if (check_granule<true>(self, cell, mask, access.flags, granule, access.address, access.size,
                            access.pc, access.freed))
      return;
}

namespace {

// Before a release, only ticks with little history are checked, and of a thread's many ticks every
// 16th: barnes has millions, and a tenth of its time would go there.
constexpr ptrdiff_t kShortTick = 512;  // words
constexpr uint32_t kFirstTicks = 4096;

void look_again_at(Thread& self, Address address, Slot mask, const AccessInfo& access) {
  const Cell& cell = *peek_cell(address);
  const Lanes slots = load(cell.slots);
  // Without its entry, either a later access of the tick is more useful, or the memory was freed
  // since and now belongs to another thread.
  const Lanes own =
      equal(slots, all(self.epoch << kIdShift | access.flags), kIdBits | kWriteBit | kAtomicBit);
  if (bits(but_not(own, without(slots, mask))) == 0) return;
  unsigned others = 0xf & ~bits(either(known_order(self, slots), without(slots, mask)));
  if ((access.flags & kWriteBit) == 0) others &= with<kWriteBit>(slots);
  for (; others != 0; others &= others - 1) {
    const Slot found = load_slot(cell.slots[__builtin_ctz(others)]);
    if (found == 0 || !conflict(found, access.flags | mask) || is_ordered(self, found)) continue;
    report_race(self, address & ~Address{7}, mask, found, access, true);
  }
}

void look_again_at(Thread& self, const uint64_t* record) {
  const uint64_t word = record[0];
  if ((word & kHistoryFree) != 0) return;
  const bool loop = word >> kHistoryTagShift == static_cast<uint64_t>(HistoryTag::kLoop);
  const Address address = record[1];
  const size_t small = word >> 48 & 0xff;
  const size_t size = small != 0 || loop ? small : record[2];
  // Of those over more than a granule, which are rare, only the beginning; of a loop the first.
  const size_t first = size < 8 - (address & 7) ? size : 8 - (address & 7);
  const Slot flags = ((word & kHistoryWrite) != 0 ? kWriteBit : 0) |
                     ((word & kHistoryAtomic) != 0 ? kAtomicBit : 0);
  look_again_at(self, address, granule_mask(address, first),
                {address, size, word & kHistoryAddress, flags});
}

// The records of accesses from `at`, where `tick` continues, that belong to its current tick.
template <typename Visit>
DEADHEAT_INLINE void for_each_access(const Thread& self, uint32_t tick, const uint64_t* at,
                                     const uint64_t* end, Visit visit) {
  while (at < end) {
    const uint64_t* const record = at++;
    const auto tag = static_cast<HistoryTag>(*record >> kHistoryTagShift);
    if (tag == HistoryTag::kTick) tick = static_cast<uint32_t>(*record);
    if (tag == HistoryTag::kLock) ++at;
    if (tag != HistoryTag::kAccess && tag != HistoryTag::kLoop) continue;
    at += tag == HistoryTag::kLoop ? 3 : (*record >> 48 & 0xff) != 0 ? 1 : 2;
    if (tick == self.tick) visit(record);
  }
}

}  // namespace

void look_again(Thread& self) {
  const uint64_t* const begin = self.history.tick;
  const uint64_t* const end = self.history.at;
  if (hot.storing == nullptr || end == begin || end - begin > kShortTick) return;
  if (self.tick - self.first_tick > kFirstTicks && self.tick % 16 != 0) return;
  for_each_access(self, self.tick, begin, end,
                  [&](const uint64_t* record) { look_again_at(self, record); });
}

void look_again_at_all(Thread& self) {
  const History& history = self.history;
  if (hot.storing == nullptr || history.at == nullptr) return;
  for (uint64_t sequence = history.sequence; sequence != 0; --sequence) {
    const HistoryChunk* const chunk = history.chunks[sequence % history_chunks()];
    if (chunk == nullptr || chunk->sequence != sequence) return;
    for_each_access(self, chunk->first_tick, chunk->words,
                    chunk->end == nullptr ? history.at : chunk->end,
                    [&](const uint64_t* record) { look_again_at(self, record); });
    if (chunk->first_tick != self.tick) return;
  }
}

uint64_t evicted_accesses() {
  uint64_t sum = 0;
  for_each_thread([&sum](const Thread& thread) { sum += thread.evicted; });
  return sum + evicted_by_forgotten_threads();
}

}  // namespace deadheat::runtime
