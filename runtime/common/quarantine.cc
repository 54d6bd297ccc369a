#include "runtime/common/quarantine.h"

#include "runtime/common/options.h"
#include "runtime/common/os.h"

extern "C" void __libc_free(void*);

namespace deadheat::runtime {

namespace {

// Chosen by thread, so that threads that free a lot do not contend. No thread ever waits for a
// shard: free() is called in unusual contexts (a signal handler, the child of a fork), and losing a
// block from the quarantine is better than a hang.
constexpr size_t kShards = 8;
// Small blocks are limited by number: 4096 of them stay in a processor's cache.
constexpr size_t kShardBlocks = 4096;
// The program set a limit of its own; below this one there is nothing to spare, above a small part.
constexpr int64_t kTightLimitMb = 64, kPartOfLimit = 32;

struct Kept {
  void* real;
  size_t size;
};

struct Shard {
  Lock lock;
  size_t first, count;
  Kept blocks[kShardBlocks];
};
Shard shards[kShards];
size_t most_bytes;  // 0: off
size_t kept_bytes;  // in all shards
uint64_t passed;

bool too_much() { return __atomic_load_n(&kept_bytes, __ATOMIC_RELAXED) > most_bytes; }

void* take_oldest(Shard& shard) {
  if (shard.count == 0) return nullptr;
  const Kept oldest = shard.blocks[shard.first];
  shard.first = (shard.first + 1) % kShardBlocks;
  --shard.count;
  __atomic_fetch_sub(&kept_bytes, oldest.size, __ATOMIC_RELAXED);
  return oldest.real;
}

void* take_oldest_locked(Shard& shard) {
  if (!shard.lock.try_lock()) return nullptr;
  void* const real = take_oldest(shard);
  shard.lock.unlock();
  return real;
}

// The oldest of the thread's own shard, then others': threads that are done must not keep it all.
void make_room(size_t own) {
  for (size_t i = 0; i < kShards && too_much();) {
    if (void* const real = take_oldest_locked(shards[(own + i) % kShards]))
      __libc_free(real);
    else
      ++i;
  }
}

}  // namespace

void start_quarantine() {
  int64_t mb = runtime_options().quarantine_mb;
  const int64_t limit = runtime_options().memory_limit_mb;
  if (limit > 0 && mb > limit / kPartOfLimit) mb = limit < kTightLimitMb ? 0 : limit / kPartOfLimit;
  most_bytes = mb <= 0 ? 0 : static_cast<size_t>(mb) << 20;
}

bool quarantine_keep(void* real, size_t size, uint32_t thread) {
  if (most_bytes == 0) return false;
  const size_t own = thread % kShards;
  Shard& shard = shards[own];
  if (size > most_bytes / 2 || !shard.lock.try_lock()) {
    __atomic_fetch_add(&passed, 1, __ATOMIC_RELAXED);
    return false;
  }
  void* const replaced = shard.count == kShardBlocks ? take_oldest(shard) : nullptr;
  shard.blocks[(shard.first + shard.count) % kShardBlocks] = {real, size};
  ++shard.count;
  __atomic_fetch_add(&kept_bytes, size, __ATOMIC_RELAXED);
  shard.lock.unlock();
  if (replaced != nullptr) __libc_free(replaced);
  if (too_much()) make_room(own);
  return true;
}

void empty_quarantine() {
  for (Shard& shard : shards)
    while (void* const real = take_oldest_locked(shard)) __libc_free(real);
}

// Entries that another thread was changing during the fork are left as they are, and lost.
void quarantine_after_fork() {
  for (Shard& shard : shards) {
    if (!shard.lock.try_lock()) shard.first = shard.count = 0;
    shard.lock.reset();
  }
}

uint64_t quarantine_passed() { return __atomic_load_n(&passed, __ATOMIC_RELAXED); }

}  // namespace deadheat::runtime
