#include "runtime/detect/history.h"

#include <string.h>

#include "runtime/common/options.h"
#include "runtime/detect/threads.h"

namespace deadheat::runtime {

size_t history_chunks() {
  return size_t{2} << runtime_options().history_size;  // 64 KiB << history_size
}

uint64_t* history_next_chunk(Thread& self) {
  const Busy busy(self);
  keep_memory_limit();  // a chunk is about two thousand stored accesses: 8 MB of shadow at most
  History& history = self.history;
  const uint64_t sequence = history.sequence + 1;
  HistoryChunk*& place = history.chunks[sequence % history_chunks()];
  if (history.sequence != 0) history.chunks[history.sequence % history_chunks()]->end = history.at;
  if (place == nullptr) {
    auto* const fresh = static_cast<HistoryChunk*>(arena_allocate(kHistoryChunkBytes));
    if (fresh == nullptr) {
      // Reuse the oldest chunk, or none if there is none: then every record takes this path, and
      // the stack of the earlier access is lost (counted in the report).
      history.at = history.limit = history.tick = nullptr;
      return nullptr;
    }
    __atomic_store_n(&place, fresh, __ATOMIC_RELEASE);
  }
  HistoryChunk& chunk = *place;
  __atomic_store_n(&chunk.sequence, 0, __ATOMIC_RELEASE);  // tells readers that it is changing
  __atomic_thread_fence(__ATOMIC_SEQ_CST);
  chunk.first_tick = self.tick;
  const size_t depth = stack_depth(self);
  const size_t kept = depth < kMaxHistoryStack ? depth : kMaxHistoryStack;
  chunk.stack_depth = static_cast<uint32_t>(kept);
  chunk.stack_cut = static_cast<uint32_t>(depth - kept);
  memcpy(chunk.stack, self.stack + (depth - kept), kept * sizeof(Address));
  chunk.lock_count = self.lock_count < kMaxHistoryLocks ? self.lock_count : kMaxHistoryLocks;
  memcpy(chunk.locks, self.locks, chunk.lock_count * sizeof(HeldLock));
  chunk.end = nullptr;
  history.at = history.tick = chunk.words;
  history.limit = chunk.words + kHistoryWords - kHistorySlack;
  history.sequence = sequence;
  __atomic_store_n(&chunk.sequence, sequence, __ATOMIC_RELEASE);
  return history.at;
}

namespace {

// Replays one chunk from its start.
class Replay {
 public:
  Replay(const HistoryChunk& chunk, uint32_t tick) : tick_(chunk.first_tick), wanted_(tick) {
    depth_ = chunk.stack_depth;
    memcpy(stack_, chunk.stack, depth_ * sizeof(Address));
    lock_count_ = chunk.lock_count;
    memcpy(locks_, chunk.locks, lock_count_ * sizeof(HeldLock));
  }

  struct Target {
    Address granule;
    unsigned mask;
    bool write, atomic;
  };

  void run(const uint64_t* at, const uint64_t* end, const Target& target, PastAccess& past) {
    while (at < end && tick_ <= wanted_) {
      const uint64_t word = *at++;
      const Address payload = word & kHistoryAddress;
      switch (static_cast<HistoryTag>(word >> kHistoryTagShift)) {
        case HistoryTag::kAccess: {
          const Address address = *at++;
          size_t size = word >> 48 & 0xff;
          if (size == 0) size = *at++;
          if (tick_ == wanted_ && fits(word, address, size, target))
            take(word, payload, address, size, past);
          break;
        }
        case HistoryTag::kLoop: {
          const uint64_t* const loop = at;
          at += 3;
          const Address address =
              tick_ == wanted_ ? turn_at({loop[0], loop[1], loop[2], word >> 48 & 0xff}, target)
                               : 0;
          if (address != 0 && fits(word, address, word >> 48 & 0xff, target))
            take(word, payload, address, word >> 48 & 0xff, past);
          break;
        }
        case HistoryTag::kEntry:
          if (depth_ < kMaxHistoryStack) stack_[depth_] = payload;
          ++depth_;
          break;
        case HistoryTag::kExit:
          if (depth_ > 0) --depth_;
          break;
        case HistoryTag::kLock:
          if (lock_count_ < kMaxHistoryLocks)
            locks_[lock_count_] = {payload, *at, (word & kHistoryWrite) == 0};
          ++lock_count_;
          ++at;
          break;
        case HistoryTag::kUnlock:
          unlock(payload);
          break;
        case HistoryTag::kTick:
          tick_ = static_cast<uint32_t>(word);
          break;
      }
    }
  }

 private:
  struct LoopRecord {
    Address lowest;
    uint64_t count, distance;
    size_t size;
  };
  // The access of the loop that touches the lowest of the wanted bytes; 0 if none does.
  static Address turn_at(const LoopRecord& loop, const Target& target) {
    for (unsigned byte = 0; byte < 8; ++byte) {
      const Address at = target.granule + byte;
      if ((target.mask >> byte & 1) == 0 || at < loop.lowest || loop.distance == 0) continue;
      uint64_t turn = (at - loop.lowest) / loop.distance;
      if (turn >= loop.count) turn = loop.count - 1;  // one longer than the distance
      const Address address = loop.lowest + turn * loop.distance;
      if (at - address < loop.size) return address;
    }
    return 0;
  }
  static bool fits(uint64_t word, Address address, size_t size, const Target& target) {
    if (((word & kHistoryWrite) != 0) != target.write) return false;
    if (((word & kHistoryAtomic) != 0) != target.atomic) return false;
    for (unsigned byte = 0; byte < 8; ++byte) {
      const Address at = target.granule + byte;
      if ((target.mask >> byte & 1) != 0 && at >= address && at < address + size) return true;
    }
    return false;
  }
  void take(uint64_t word, Address pc, Address address, size_t size, PastAccess& past) {
    past.found = true;
    past.pc = pc;
    past.address = address;
    past.size = size;
    past.write = (word & kHistoryWrite) != 0;
    past.atomic = (word & kHistoryAtomic) != 0;
    past.freed = (word & kHistoryFree) != 0;
    const size_t depth = depth_ < kMaxHistoryStack ? depth_ : kMaxHistoryStack;
    past.stack_depth = depth;
    for (size_t i = 0; i < depth; ++i) past.stack[i] = stack_[depth - 1 - i];
    past.lock_count = lock_count_ < kMaxHistoryLocks ? lock_count_ : kMaxHistoryLocks;
    memcpy(past.locks, locks_, past.lock_count * sizeof(HeldLock));
  }
  void unlock(Address lock) {
    for (size_t i = lock_count_; i-- > 0;) {
      if (i >= kMaxHistoryLocks || locks_[i].address != lock) continue;
      for (size_t j = i; j + 1 < lock_count_ && j + 1 < kMaxHistoryLocks; ++j)
        locks_[j] = locks_[j + 1];
      --lock_count_;
      return;
    }
  }

  uint32_t tick_;
  uint32_t wanted_;
  Address stack_[kMaxHistoryStack];
  size_t depth_ = 0;
  HeldLock locks_[kMaxHistoryLocks];
  size_t lock_count_ = 0;
};

}  // namespace

void find_past_access(const Thread& thread, uint32_t tick, Address granule, unsigned mask,
                      bool write, bool atomic, PastAccess& past) {
  const History& history = thread.history;
  const uint64_t newest = __atomic_load_n(&history.sequence, __ATOMIC_ACQUIRE);
  const uint64_t count = history_chunks();
  // From the newest chunk back to the one in which the tick began.
  for (uint64_t sequence = newest; sequence > 0 && newest - sequence < count; --sequence) {
    const HistoryChunk* const chunk =
        __atomic_load_n(&history.chunks[sequence % count], __ATOMIC_ACQUIRE);
    if (chunk == nullptr || __atomic_load_n(&chunk->sequence, __ATOMIC_ACQUIRE) != sequence) return;
    if (chunk->first_tick > tick) continue;
    const uint64_t* end = __atomic_load_n(&chunk->end, __ATOMIC_ACQUIRE);
    if (end == nullptr) end = __atomic_load_n(&history.at, __ATOMIC_ACQUIRE);
    if (end < chunk->words || end > chunk->words + kHistoryWords)
      end = chunk->words + kHistoryWords;
    const uint32_t first_tick = chunk->first_tick;
    Replay replay(*chunk, tick);
    replay.run(chunk->words, end, {granule, mask, write, atomic}, past);
    __atomic_thread_fence(__ATOMIC_ACQUIRE);
    if (__atomic_load_n(&chunk->sequence, __ATOMIC_RELAXED) != sequence) past.found = false;
    if (past.found || first_tick < tick) return;
  }
}

}  // namespace deadheat::runtime
