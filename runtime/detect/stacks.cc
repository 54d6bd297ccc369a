#include "runtime/detect/stacks.h"

#include "runtime/common/arena.h"
#include "runtime/common/os.h"

namespace deadheat::runtime {

namespace {

// Entries are contiguous in blocks; an id is the entry's word offset over all blocks.
struct Entry {
  uint64_t hash;
  StackId next;  // in its bucket
  uint32_t depth;
  Address frames[1];
};

constexpr size_t kBlockWords = 1 << 16;
constexpr size_t kBlocks = 1 << 12;  // 2 GB at most
constexpr size_t kBuckets = 1 << 16;
constexpr size_t kLocks = 64;

uint64_t* blocks[kBlocks];
uint64_t used_words = 1;  // id 0 is "none"
StackId buckets[kBuckets];
Lock bucket_locks[kLocks];
Lock block_lock;
uint64_t dropped;

Entry* entry_at(StackId id) {
  return reinterpret_cast<Entry*>(__atomic_load_n(&blocks[id / kBlockWords], __ATOMIC_ACQUIRE) +
                                  id % kBlockWords);
}

StackId allocate(size_t words) {
  const Locked locked(block_lock);
  if (used_words % kBlockWords + words > kBlockWords)
    used_words = (used_words / kBlockWords + 1) * kBlockWords;
  const size_t block = used_words / kBlockWords;
  if (block >= kBlocks) return 0;
  if (blocks[block] == nullptr) {
    void* const fresh = map_memory(kBlockWords * sizeof(uint64_t));
    if (fresh == nullptr) return 0;
    __atomic_store_n(&blocks[block], static_cast<uint64_t*>(fresh), __ATOMIC_RELEASE);
  }
  const auto id = static_cast<StackId>(used_words);
  used_words += words;
  return id;
}

StackId find(StackId first, uint64_t hash) {
  for (StackId id = first; id != 0; id = entry_at(id)->next)
    if (entry_at(id)->hash == hash) return id;
  return 0;
}

}  // namespace

// A 64-bit hash represents the stack: two of a million stacks collide with probability 3e-8, and
// then an allocation is described by the wrong stack.
StackId keep_stack(const Address* frames, size_t depth, Address pc) {
  const size_t kept = depth < kMaxKeptFrames - 1 ? depth : kMaxKeptFrames - 1;
  uint64_t hash = pc * 0x9e3779b97f4a7c15ULL;
  for (size_t i = 0; i < kept; ++i)
    hash = (hash ^ frames[depth - 1 - i]) * 0xff51afd7ed558ccdULL, hash ^= hash >> 32;
  const size_t bucket = hash % kBuckets;
  if (const StackId known = find(__atomic_load_n(&buckets[bucket], __ATOMIC_ACQUIRE), hash))
    return known;
  const Locked locked(bucket_locks[bucket % kLocks]);
  if (const StackId known = find(buckets[bucket], hash)) return known;
  const StackId id = allocate(2 + (kept + 1));
  if (id == 0) {
    __atomic_fetch_add(&dropped, 1, __ATOMIC_RELAXED);
    return 0;
  }
  Entry* const entry = entry_at(id);
  entry->hash = hash;
  entry->next = buckets[bucket];
  entry->depth = static_cast<uint32_t>(kept + 1);
  entry->frames[0] = pc;
  for (size_t i = 0; i < kept; ++i) entry->frames[i + 1] = frames[depth - 1 - i];
  __atomic_store_n(&buckets[bucket], id, __ATOMIC_RELEASE);
  return id;
}

void get_stack(StackId id, KeptStack* out) {
  out->depth = 0;
  if (id == 0) return;
  const Entry* const entry = entry_at(id);
  out->depth = entry->depth;
  for (size_t i = 0; i < entry->depth; ++i) out->frames[i] = entry->frames[i];
}

uint64_t stacks_dropped() { return dropped; }

void stacks_after_fork() {
  for (Lock& lock : bucket_locks) lock.reset();
  block_lock.reset();
}

}  // namespace deadheat::runtime
