// A thread's recent past, for the stack of the *earlier* access of a race: function entries and
// exits, stored accesses, locks. A ring of chunks; each chunk begins with the stack and the locks
// at its start, so it can be replayed alone. Chunks are allocated as the thread needs them, up to
// the limit (option history_size); then the oldest is overwritten and its content lost.
//
// The owner appends while a reporting thread reads. The reader copies what it needs and then checks
// whether the chunk was reused meanwhile (`sequence`).
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "runtime/common/mode.h"

namespace deadheat::runtime {

struct Thread;

// The upper four bits of a word are its tag. Low 48 bits: a pc or an address.
enum class HistoryTag : uint8_t {
  kAccess,  // pc; bits 48..55 size (0: in a third word), 56..59 flags; then the address
  kEntry,   // pc of the call
  kExit,
  kLock,    // address, bit 56 (write) if exclusive; then the pc
  kUnlock,  // address
  kTick,    // the tick that begins here
  kLoop,    // like kAccess, size of one; then the lowest address, the count, and the distance
};

inline constexpr unsigned kHistoryTagShift = 60;
inline constexpr uint64_t kHistoryAddress = (uint64_t{1} << 48) - 1;
inline constexpr uint64_t kHistoryWrite = uint64_t{1} << 56;
inline constexpr uint64_t kHistoryAtomic = uint64_t{1} << 57;
inline constexpr uint64_t kHistoryFree = uint64_t{1} << 58;

inline constexpr uint64_t history_tag(HistoryTag tag) {
  return static_cast<uint64_t>(tag) << kHistoryTagShift;
}

inline constexpr size_t kHistoryChunkBytes = 32 << 10;
inline constexpr size_t kHistorySlack = 4;  // words of the longest record, so one check is enough
inline constexpr size_t kMaxHistoryStack = 256;  // frames kept at the start of a chunk: innermost
inline constexpr size_t kMaxHistoryLocks = 32;

struct HeldLock {
  Address address = 0;
  Address pc = 0;
  bool shared = false;
};

struct HistoryChunk {
  uint64_t sequence;    // number of the chunk in the thread's life, from 1; 0: none
  uint32_t first_tick;  // the tick in which it begins
  uint32_t stack_depth;
  uint32_t stack_cut;  // omitted outer frames
  uint32_t lock_count;
  uint64_t* end;  // words used, set when the chunk is full; the newest has it in the owner's state
  Address stack[kMaxHistoryStack];
  HeldLock locks[kMaxHistoryLocks];
  uint64_t words[1];  // to the end of the chunk
};
inline constexpr size_t kHistoryWords =
    (kHistoryChunkBytes - offsetof(HistoryChunk, words)) / sizeof(uint64_t);

inline constexpr size_t kMaxHistoryChunks = 256;

struct History {
  HistoryChunk* chunks[kMaxHistoryChunks] = {};
  uint64_t sequence = 0;      // of the newest chunk
  uint64_t* at = nullptr;     // next word
  uint64_t* limit = nullptr;  // a record may begin before this
  uint64_t* tick = nullptr;   // where the current tick begins, or this chunk of it
};

size_t history_chunks();  // the most that a thread may have
// If the current chunk is full or missing: the first word of the next, null without memory.
uint64_t* history_next_chunk(Thread& self);

// The result of a replay.
struct PastAccess {
  bool found = false;
  Address pc = 0;
  Address address = 0;
  size_t size = 0;
  bool write = false, atomic = false, freed = false;
  Address stack[kMaxHistoryStack];  // innermost first, call sites
  size_t stack_depth = 0;
  HeldLock locks[kMaxHistoryLocks];
  size_t lock_count = 0;
};

// The last access of `thread` in its tick `tick` that touched a byte of `mask` in the granule, with
// the given strength. Leaves past.found false if the history no longer has it.
void find_past_access(const Thread& thread, uint32_t tick, Address granule, unsigned mask,
                      bool write, bool atomic, PastAccess& past);

}  // namespace deadheat::runtime
