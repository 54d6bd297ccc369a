// The compilers' hooks. The fast path, a thread's repeated access in one tick, is one compare of a
// shadow slot; everything else is in check.cc.
#include "runtime/detect/hooks.h"

#include <emmintrin.h>

#include "runtime/common/atomics.h"
#include "runtime/detect/check.h"
#include "runtime/detect/near_hooks.h"
#include "runtime/detect/record_history.h"
#include "runtime/detect/region_clocks.h"
#include "runtime/detect/regions.h"
#include "runtime/detect/sync.h"

#define DEADHEAT_INLINE inline __attribute__((always_inline))

namespace deadheat::runtime {

namespace {

// For each first byte in a granule, four copies of the compared bits: epoch id, atomic, for a write
// also write, and the bytes that the access touches there.
template <unsigned kSize, bool kWrite>
struct Compared {
  Slot slots[8][kCellSlots];
  constexpr Compared() : slots() {
    for (unsigned first = 0; first < 8; ++first)
      for (Slot& slot : slots[first])
        slot = kIdBits | kAtomicBit | (kWrite ? kWriteBit : 0) | granule_bytes(first, kSize);
  }
};
template <unsigned kSize, bool kWrite>
alignas(16) constexpr Compared<kSize, kWrite> kCompared;

// Whether one of the cell's slots has: this thread, this tick, plain, at least these bytes; and for
// a write, a write.
DEADHEAT_INLINE bool cell_covered(const Cell& cell, const Slot* compared, bool write) {
  const __m128i slots = _mm_load_si128(reinterpret_cast<const __m128i*>(&cell));
  const __m128i wanted =
      _mm_load_si128(reinterpret_cast<const __m128i*>(write ? hot.write : hot.read));
  const __m128i mask = _mm_load_si128(reinterpret_cast<const __m128i*>(compared));
  const __m128i differs = _mm_and_si128(_mm_xor_si128(slots, wanted), mask);
  return _mm_movemask_epi8(_mm_cmpeq_epi32(differs, _mm_setzero_si128())) != 0;
}

DEADHEAT_INLINE const Cell* hot_cell(Address address) {
  return reinterpret_cast<const Cell*>(hot.segments[segment_of(address)] +
                                       (address & hot.address_bits) * kShadowScale);
}

// Compilers believe in alignment; programs cast. An access that is not aligned after all may be
// taken for covered here when only its first granule is; the slow way always looks at all bytes.
template <unsigned kSize, bool kWrite>
DEADHEAT_INLINE void hook_access(Address address, Address pc) {
  const Cell* const cell = hot_cell(address);
  constexpr unsigned kInGranule = kSize < 8 ? kSize : 8;
  const unsigned first = kSize < 8 ? address & 7 : 0;
  const Slot* const compared = kCompared<kInGranule, kWrite>.slots[first];
  if (__builtin_expect(cell_covered(cell[0], compared, kWrite), 1) &&
      (kSize < 16 || cell_covered(cell[1], compared, kWrite)))
    return;
  check_plain<kSize, kWrite, false>(address, pc);
}

template <unsigned kSize, bool kWrite>
DEADHEAT_INLINE void hook_unaligned(Address address, Address pc) {
  const Cell* const cell = hot_cell(address);
  const unsigned first = address & 7;
  // One granule, or two within the segment; three are rare.
  if (__builtin_expect(first + kSize <= 16, 1) &&
      ((address + kSize) & ((Address{1} << kSegmentShift) - 1)) > kSize) {
    constexpr unsigned kInGranule = kSize < 8 ? kSize : 8;
    const Slot* const head = kCompared<kInGranule, kWrite>.slots[first];
    if (cell_covered(cell[0], head, kWrite)) {
      if (first + kSize <= 8) return;
      const Slot* const tail = kCompared<8, kWrite>.slots[0];  // stricter than its bytes
      if (cell_covered(cell[1], tail, kWrite)) return;
    }
  }
  check_plain<kSize, kWrite, false>(address, pc);
}

void hook_range(Address address, size_t size, bool write, Address pc) {
  if (Thread* const self = tls_self; self != nullptr) on_range(self, pc, address, size, write);
}

DEADHEAT_INLINE void hook_entry(Address pc) {
  Address* const top = hot.stack_top;
  if (__builtin_expect(top == hot.stack_limit, 0)) {
    if (Thread* const self = tls_self; self != nullptr) entry_slow(*self, pc);
    return;
  }
  *top = pc;
  hot.stack_top = top + 1;
  history_entry(*tls_self, pc);
}

DEADHEAT_INLINE void hook_exit() {
  Address* const top = hot.stack_top;
  if (__builtin_expect(top == hot.stack_floor, 0)) {
    if (Thread* const self = tls_self; self != nullptr) exit_slow(*self);
    return;
  }
  hot.stack_top = top - 1;
  history_exit(*tls_self);
}

void atomic_acquire(Thread& self, const SyncObject& object, MemoryOrder order) {
  learn(acquires(order) ? self.clock : self.acquire_pending, object.clock);
}

// A store ends the release sequences of other threads and, unless it is a C++20 store, continues
// those of its own. (A releasing one knows everything that they published: no difference.) If
// several threads have active sequences, what this one published is in the object's clock and in
// its own: the intersection is exact, or larger if it has learned of the others' meanwhile.
// lib/analysis/clocks.cc keeps them apart.
void end_sequences(const Thread& self, SyncObject& object, MemoryOrder order, uint64_t own) {
  if (order == MemoryOrder::kRelaxed20 || releases(order) || (object.heads & own) == 0) {
    object.clock.clear();
    object.heads = 0;
  } else if (object.heads != own) {
    object.clock.meet(self.clock);
    object.heads = own;
  }
}

// A read-modify-write continues the release sequences, a store ends some. A releasing operation
// heads a new one; a relaxed write heads one with what the thread's last release fence saw.
void atomic_release(const Thread& self, SyncObject& object, MemoryOrder order, bool store) {
  const uint64_t own = uint64_t{1} << self.common.number % 64;
  if (store) end_sequences(self, object, order, own);
  const Clock& published = releases(order) ? self.clock : self.release_fence;
  if (published.empty()) return;
  learn(object.clock, published);
  object.heads |= own;
}

// The entry that covers an atomic access may itself be plain.
void check_atomic(Thread& self, Address address, size_t size, Address pc, bool write) {
  if (hot.storing == nullptr) return;
  const Slot wanted = write ? hot.write[0] : hot.read[0];
  const Slot compared = kIdBits | (write ? kWriteBit : 0) | granule_bytes(address & 7, size);
  if (size <= 8) {
    for (const Slot& slot : peek_cell(address)->slots)
      if (((load_slot(slot) ^ wanted) & compared) == 0) return;
  }
  const Slot flags = kAtomicBit | (write ? kWriteBit : 0);
  if ((address & 7) + size <= 8) return check_small(self, address, size, pc, flags);
  check_access(self, {address, size, pc, flags});
}

bool unseen(const Thread* self) { return self == nullptr || self->alone || self->ignore_sync > 0; }

// Inside the object's lock, after the operation: no thread that takes its order from this operation
// can have continued yet.
template <typename T>
void atomic_happened(Thread& self, SyncShard& shard, Address address, AtomicKind kind,
                     MemoryOrder order, Address pc) {
  SyncObject* const object = find_object(shard, address, SyncKind::kAtomic);
  if (object != nullptr && kind != AtomicKind::kStore) atomic_acquire(self, *object, order);
  check_atomic(self, address, sizeof(T), pc, kind != AtomicKind::kLoad);
  if (object != nullptr && kind != AtomicKind::kLoad)
    atomic_release(self, *object, order, kind == AtomicKind::kStore);
}

template <typename T, typename Op>
T hook_atomic(AtomicKind kind, volatile T* place, MemoryOrder order, Address pc, Op op) {
  Thread* const self = tls_self;
  if (unseen(self)) return op();
  const Busy busy(*self);
  const auto address = reinterpret_cast<Address>(place);
  const bool write = kind != AtomicKind::kLoad;
  const bool publishes = write && (releases(order) || !self->release_fence.empty());
  T result;
  bool done = false;
  if (!publishes && !may_have_object(address)) {
    // If no object exists now, none was published to when the value was read: a publishing thread
    // announces its object first. Otherwise a load is repeated, and a read-modify-write may have
    // read the published value.
    check_atomic(*self, address, sizeof(T), pc, write);
    result = op();
    done = write;
    if (kind == AtomicKind::kStore) return result;
    if (!may_have_object(address)) {
      acquire_from_regions(*self, address);
      return result;
    }
  }
  if (publishes) look_again(*self);
  SyncShard& shard = shard_of(address);
  {
    const Locked locked(shard.lock);
    if (publishes) make_object(shard, address, SyncKind::kAtomic);
    if (!done) result = op();
    atomic_happened<T>(*self, shard, address, kind, order, pc);
  }
  if (kind != AtomicKind::kStore) acquire_from_regions(*self, address);
  if (write && releases(order)) advance(*self);
  return result;
}

template <typename T>
bool hook_compare_exchange(volatile T* place, T* expected, T desired, MemoryOrder success,
                           MemoryOrder failure, Address pc) {
  Thread* const self = tls_self;
  if (unseen(self)) return real_compare_exchange(place, expected, desired);
  const Busy busy(*self);
  const auto address = reinterpret_cast<Address>(place);
  if (releases(success)) look_again(*self);
  SyncShard& shard = shard_of(address);
  bool done;
  {
    const Locked locked(shard.lock);
    if (releases(success) || !self->release_fence.empty())
      make_object(shard, address, SyncKind::kAtomic);
    done = real_compare_exchange(place, expected, desired);
    atomic_happened<T>(*self, shard, address,
                       done ? AtomicKind::kReadModifyWrite : AtomicKind::kLoad,
                       done ? success : failure, pc);
  }
  acquire_from_regions(*self, address);
  if (done && releases(success)) advance(*self);
  return done;
}

}  // namespace

namespace {

template <bool kMayBeCovered>
SlowWays slow_ways() {
  return {{{check_plain<1, false, kMayBeCovered>, check_plain<2, false, kMayBeCovered>,
            check_plain<4, false, kMayBeCovered>, check_plain<8, false, kMayBeCovered>,
            check_plain<16, false, kMayBeCovered>},
           {check_plain<1, true, kMayBeCovered>, check_plain<2, true, kMayBeCovered>,
            check_plain<4, true, kMayBeCovered>, check_plain<8, true, kMayBeCovered>,
            check_plain<16, true, kMayBeCovered>}}};
}

}  // namespace

void start_hooks() { start_near_hooks(slow_ways<false>(), slow_ways<true>()); }

void on_function_entry(Thread*, Address pc) { hook_entry(pc); }
void on_function_exit(Thread*) { hook_exit(); }

}  // namespace deadheat::runtime

#include "runtime/common/abi_accesses.inc"
#include "runtime/common/abi_atomics.inc"
