// Appends to the calling thread's history.
#pragma once

#include "runtime/detect/threads.h"

namespace deadheat::runtime {

// Null without memory for a chunk.
inline uint64_t* history_room(Thread& self) {
  uint64_t* const at = self.history.at;
  return __builtin_expect(at < self.history.limit, 1) ? at : history_next_chunk(self);
}

// Published atomically: a reader sees only whole records.
inline void history_commit(Thread& self, uint64_t* end) {
  __atomic_store_n(&self.history.at, end, __ATOMIC_RELEASE);
}

inline void history_word(Thread& self, uint64_t word) {
  uint64_t* const at = history_room(self);
  if (at == nullptr) return;
  *at = word;
  history_commit(self, at + 1);
}

inline void history_entry(Thread& self, Address pc) {
  history_word(self, history_tag(HistoryTag::kEntry) | (pc & kHistoryAddress));
}
inline void history_exit(Thread& self) { history_word(self, history_tag(HistoryTag::kExit)); }
inline void history_tick(Thread& self) {
  history_word(self, history_tag(HistoryTag::kTick) | self.tick);
  self.history.tick = self.history.at;
}
inline void history_unlock(Thread& self, Address lock) {
  history_word(self, history_tag(HistoryTag::kUnlock) | (lock & kHistoryAddress));
}
inline void history_lock(Thread& self, Address lock, Address pc, bool shared) {
  uint64_t* const at = history_room(self);
  if (at == nullptr) return;
  at[0] = history_tag(HistoryTag::kLock) | (shared ? 0 : kHistoryWrite) | (lock & kHistoryAddress);
  at[1] = pc;
  history_commit(self, at + 2);
}
inline void history_loop(Thread& self, Address pc, Address lowest, size_t size, uint64_t count,
                         uint64_t distance, uint64_t flags) {
  uint64_t* const at = history_room(self);
  if (at == nullptr) return;
  at[0] = history_tag(HistoryTag::kLoop) | flags | uint64_t{size} << 48 | (pc & kHistoryAddress);
  at[1] = lowest;
  at[2] = count;
  at[3] = distance;
  history_commit(self, at + 4);
}
// If there is room.
inline void history_access_small(Thread& self, Address pc, Address address, size_t size,
                                 uint64_t flags) {
  uint64_t* const at = self.history.at;
  at[0] = history_tag(HistoryTag::kAccess) | flags | uint64_t{size} << 48 | pc;
  at[1] = address;
  history_commit(self, at + 2);
}
inline void history_access(Thread& self, Address pc, Address address, size_t size, uint64_t flags) {
  uint64_t* const at = history_room(self);
  if (at == nullptr) return;
  const bool small = size < 256;
  at[0] = history_tag(HistoryTag::kAccess) | flags | (small ? uint64_t{size} << 48 : 0) |
          (pc & kHistoryAddress);
  at[1] = address;
  if (!small) at[2] = size;
  history_commit(self, at + (small ? 2 : 3));
}

}  // namespace deadheat::runtime
