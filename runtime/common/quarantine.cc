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
// Small blocks are limited by number: with their shadow, these stay in a processor's cache. All
// wait for kBlocks frees of their shard; of those that have waited, every kLongEvery-th waits for
// kLongEvery * kBlocks more. A use that comes later than that of the first finds the others.
constexpr size_t kBlocks = 512;
constexpr uint32_t kLongEvery = 8;
// The program set a limit of its own; below this one there is nothing to spare, above a small part.
constexpr int64_t kTightLimitMb = 64, kPartOfLimit = 32;

struct Kept {
  void* real = nullptr;
  size_t size = 0;
};

class Ring {
 public:
  // The oldest if all places are taken, otherwise an empty one.
  Kept put(Kept block) {
    const Kept oldest = count_ == kBlocks ? take() : Kept{};
    blocks_[(first_ + count_++) % kBlocks] = block;
    return oldest;
  }
  Kept take() {
    if (count_ == 0) return {};
    const Kept oldest = blocks_[first_];
    first_ = (first_ + 1) % kBlocks;
    --count_;
    return oldest;
  }
  void forget() { first_ = count_ = 0; }

 private:
  size_t first_ = 0, count_ = 0;
  Kept blocks_[kBlocks];
};

struct Shard {
  Lock lock;
  Ring all, longer;
  uint32_t waited = 0;
  int64_t untold = 0;  // bytes that kept_bytes does not have yet
};
constinit Shard shards[kShards];
size_t most_bytes;  // 0: off
// In all shards, but for kTellFrom bytes of each: a counter that all threads write at each free is
// slow.
constexpr int64_t kTellFrom = 32 << 10;
int64_t kept_bytes;
uint64_t passed;

bool too_much() {
  return __atomic_load_n(&kept_bytes, __ATOMIC_RELAXED) > static_cast<int64_t>(most_bytes);
}

void tell(Shard& shard, int64_t from) {
  if (shard.untold < from && shard.untold > -from) return;
  __atomic_fetch_add(&kept_bytes, shard.untold, __ATOMIC_RELAXED);
  shard.untold = 0;
}

// The block that has to go: the oldest, unless it is one to wait longer.
Kept keep(Shard& shard, Kept block) {
  Kept oldest = shard.all.put(block);
  if (oldest.real != nullptr && ++shard.waited % kLongEvery == 0) oldest = shard.longer.put(oldest);
  shard.untold += static_cast<int64_t>(block.size) - static_cast<int64_t>(oldest.size);
  tell(shard, kTellFrom);
  return oldest;
}

void* take_oldest_locked(Shard& shard) {
  if (!shard.lock.try_lock()) return nullptr;
  Kept oldest = shard.longer.take();
  if (oldest.real == nullptr) oldest = shard.all.take();
  shard.untold -= static_cast<int64_t>(oldest.size);
  tell(shard, 1);
  shard.lock.unlock();
  return oldest.real;
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
  const Kept replaced = keep(shard, {real, size});
  shard.lock.unlock();
  if (replaced.real != nullptr) __libc_free(replaced.real);
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
    if (!shard.lock.try_lock()) {
      shard.all.forget();
      shard.longer.forget();
    }
    shard.lock.reset();
  }
}

uint64_t quarantine_passed() { return __atomic_load_n(&passed, __ATOMIC_RELAXED); }

}  // namespace deadheat::runtime
