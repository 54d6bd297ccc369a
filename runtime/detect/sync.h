// Synchronisation objects: an address and a kind map to clocks. A hash table whose shards are
// chosen by 64-byte lines, so that a freed block can remove its objects; one bit per line tells
// whether there are any. The shard's lock is held while an object is used and, for atomics, during
// the program's operation, so that clocks change in the order of the values.
#pragma once

#include "lib/order/semaphore.h"
#include "runtime/common/segment_map.h"
#include "runtime/detect/threads.h"

namespace deadheat::runtime {

inline bool acquires(MemoryOrder order) {
  return order == MemoryOrder::kAcquire || order == MemoryOrder::kConsume ||
         order == MemoryOrder::kAcqRel || order == MemoryOrder::kSeqCst;
}
inline bool releases(MemoryOrder order) {
  return order == MemoryOrder::kRelease || order == MemoryOrder::kAcqRel ||
         order == MemoryOrder::kSeqCst;
}

enum class SyncKind : uint8_t {
  kLock,
  kNotify,
  kBarrier,
  kSemaphore,
  kOnce,
  kAnnotation,
  kAtomic,
  kRegion
};

inline constexpr size_t kBarrierPhases = 4;  // closed ones that slow threads may yet leave

struct BarrierState {
  uint32_t count = 0;    // from its initialisation; 0: unknown
  uint32_t entered = 0;  // in the current phase
  uint64_t phase = 0;    // the current one
  Clock clocks[kBarrierPhases];
};

struct SyncObject {
  Address address = 0;
  SyncKind kind = SyncKind::kLock;
  SyncObject* next = nullptr;
  Clock clock;
  Clock shared;               // locks: released by readers
  uint32_t release_slot = 0;  // locks: a thread that covers this has all of `clock`
  uint32_t release_tick = ~0U;
  uint64_t heads = 0;  // atomics: threads with active release sequences, by thread number modulo 64
  BarrierState* barrier = nullptr;
  order::SemaphoreOrder<Clock>* semaphore = nullptr;  // if it was initialised in our sight
};

struct SyncShard {
  Lock lock;
  SyncObject* first;
};
inline constexpr size_t kSyncShards = 1 << 14;
extern SyncShard sync_shards[kSyncShards];
extern AddressBits<6> sync_lines;

inline SyncShard& shard_of(Address address) {
  return sync_shards[((address >> 6) * 0x9e3779b97f4a7c15ULL) >> 50];
}

// In a shard locked by the caller. make_object: null only without memory (counted: an edge is
// lost).
SyncObject* find_object(SyncShard& shard, Address address, SyncKind kind);
SyncObject* make_object(SyncShard& shard, Address address, SyncKind kind);

// Whether an object may be in the address's line. No lock.
inline bool may_have_object(Address address) { return sync_lines.test(address); }

// Forgets the objects at these addresses.
void drop_objects(Address begin, size_t size);
void drop_object(Address address, SyncKind kind);

// The usual two.
void acquire_object(Thread& self, Address address, SyncKind kind);
void release_object(Thread& self, Address address, SyncKind kind);
// Release without ending the tick: the caller does so after publishing to all objects.
void publish_to(Thread& self, Address address, SyncKind kind);

// Ignored by request, inside a modelled library, or hidden by an experiment as uninstrumented
// code.
bool is_unseen(const Thread& self, Address pc);

// What a thread that ends kept for its next objects.
void free_spare_objects(Thread& self);

void sync_before_fork();
void sync_after_fork();
uint64_t edges_lost();
void count_lost_edge();

// A join that counts its failures.
inline void learn(Clock& into, const Clock& from) {
  if (!into.join(from)) count_lost_edge();
}

}  // namespace deadheat::runtime
