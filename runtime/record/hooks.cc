// The compilers' hooks. A plain access on the fast path is a compare, the prediction and one byte;
// see encoder.h.
//
// Atomics: the operation, its stamp and its record are one step under a lock for the address, so
// the order of the stamps is the order of the values.
#include "runtime/record/hooks.h"

#include "runtime/common/atomics.h"
#include "runtime/common/os.h"
#include "runtime/record/threads.h"

#define DEADHEAT_INLINE inline __attribute__((always_inline))

namespace deadheat::runtime {

namespace {

struct alignas(64) AtomicShard {
  Lock lock;
};
AtomicShard shards[1024];

Lock& lock_of(Address address) {
  return shards[((address >> 4) * 0x9e3779b97f4a7c15ULL) >> 54].lock;
}

constexpr uint32_t log2_of(unsigned size) { return size <= 1 ? 0 : 1 + log2_of(size / 2); }

// An access of at most 8 bytes outside the fast path. Few arguments, so that the hooks call it last
// and save no register.
__attribute__((noinline)) void access_slow(Address address, Address pc, uint32_t tag) {
  Thread* const self = tls_self;
  if (self == nullptr || self->encoder.access_elsewhere(tag, address, pc)) return;
  const size_t size = size_t{1} << (tag >> DHT_COMPACT_SIZE_SHIFT & 3);
  record_access(self, pc, address, size, (tag & DHT_COMPACT_WRITE) != 0);
}

template <unsigned kSize, bool kWrite>
DEADHEAT_INLINE void hook_access(Address address, Address pc) {
  Thread* const self = tls_self;
  if constexpr (kSize <= 8) {
    constexpr uint32_t kTag =
        DHT_COMPACT | (kWrite ? DHT_COMPACT_WRITE : 0) | log2_of(kSize) << DHT_COMPACT_SIZE_SHIFT;
    if (__builtin_expect(self != nullptr, 1) && self->encoder.access<kTag>(address, pc)) return;
    access_slow(address, pc, kTag);
  } else if (self != nullptr) {
    record_access(self, pc, address, kSize, kWrite);
  }
}

// The format does not record alignment.
template <unsigned kSize, bool kWrite>
DEADHEAT_INLINE void hook_unaligned(Address address, Address pc) {
  hook_access<kSize, kWrite>(address, pc);
}

void hook_range(Address address, size_t size, bool write, Address pc) {
  if (Thread* const self = tls_self; self != nullptr) on_range(self, pc, address, size, write);
}

__attribute__((noinline)) void entry_slow(Thread* self, Address pc) {
  if (self->region_depth > 0) region_entry(self);
  Writing writing(self);
  if (writing.ok()) self->encoder.put_entry(writing.site(pc));
}

__attribute__((noinline)) void exit_slow(Thread* self) {
  if (self->region_depth > 0) region_exit(self);
  Writing writing(self);
  if (writing.ok()) self->encoder.put_exit();
}

DEADHEAT_INLINE void hook_entry(Address pc) {
  Thread* const self = tls_self;
  if (self != nullptr && !self->encoder.entry(pc)) entry_slow(self, pc);
}

DEADHEAT_INLINE void hook_exit() {
  Thread* const self = tls_self;
  if (self != nullptr && !self->encoder.exit()) exit_slow(self);
}

uint32_t event_kind(AtomicKind kind) {
  return kind == AtomicKind::kLoad    ? DHT_READ
         : kind == AtomicKind::kStore ? DHT_WRITE
                                      : DHT_READ_MODIFY_WRITE;
}

// After the operation, under its lock. Recording may have stopped since room was found: then the
// value that the operation read may come from an unrecorded event.
void atomic_happened(Thread* self, SiteSlot* slot, uint32_t kind, Address address, size_t size,
                     MemoryOrder order) {
  if (!is_recording()) {
    ++self->lost_stopped;
    return;
  }
  put_stamped(
      *self, slot,
      {.kind = kind, .order = static_cast<uint32_t>(order), .size = size, .address = address});
}

template <typename T, typename Op>
T hook_atomic(AtomicKind kind, volatile T* place, MemoryOrder order, Address pc, Op op) {
  Thread* const self = tls_self;
  if (self == nullptr || self->ignore_sync > 0) return op();
  Writing writing(self);
  if (!writing.ok()) return op();
  SiteSlot* const slot = writing.site(pc);
  const auto address = reinterpret_cast<Address>(place);
  const Locked locked(lock_of(address));
  const T result = op();
  atomic_happened(self, slot, event_kind(kind), address, sizeof(T), order);
  return result;
}

template <typename T>
bool hook_compare_exchange(volatile T* place, T* expected, T desired, MemoryOrder success,
                           MemoryOrder failure, Address pc) {
  Thread* const self = tls_self;
  if (self == nullptr || self->ignore_sync > 0)
    return real_compare_exchange(place, expected, desired);
  Writing writing(self);
  if (!writing.ok()) return real_compare_exchange(place, expected, desired);
  SiteSlot* const slot = writing.site(pc);
  const auto address = reinterpret_cast<Address>(place);
  const Locked locked(lock_of(address));
  const bool done = real_compare_exchange(place, expected, desired);
  atomic_happened(self, slot, done ? DHT_READ_MODIFY_WRITE : DHT_READ, address, sizeof(T),
                  done ? success : failure);
  return done;
}

}  // namespace

void atomics_after_fork() {
  for (AtomicShard& shard : shards) shard.lock.reset();
}

void on_function_entry(Thread*, Address pc) { hook_entry(pc); }
void on_function_exit(Thread*) { hook_exit(); }

}  // namespace deadheat::runtime

#include "runtime/common/abi_accesses.inc"
#include "runtime/common/abi_atomics.inc"
