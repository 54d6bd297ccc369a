// Writes the records of one chunk directly into the mapped trace file. The inverse is
// lib/trace/decoder.h; encoder_test.cc compares the two on random events.
//
// A record exists once its tag byte is written: the tag is stored last, and the room behind the
// last record is zero, which ends the chunk for a reader. So a thread may be killed at any
// instruction and leaves whole records, without a commit word for each.
//
// The compiler's hooks inline access(). One compare checks for the fast path: `limit_` is the end
// of the room, or 0 if the slow path must handle every access (regions, ignored accesses, no
// chunk). A signal handler that interrupts us must not write in between: `busy_` is set before any
// state is read, and cleared when all of it is consistent again.
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "abi/trace_format.h"

namespace deadheat::runtime {

struct SiteSlot : dht_prediction {
  uint64_t pc = 0;  // 0: no site of this chunk
  SiteSlot* successor = nullptr;
  uint64_t number = 0;

  uint64_t predicted() const { return dht_predicted(this); }
  void saw(uint64_t address) { dht_saw(this, address); }
};

// 256 KiB of zero pages, of which a thread touches only what its sites need.
struct SiteTables {
  static constexpr size_t kBuckets = 8192;  // twice the slots
  static constexpr size_t kProbes = 4;
  SiteSlot slots[DHT_SITE_SLOTS];
  uint16_t by_pc[kBuckets];
};

struct TraceRange {
  uint64_t begin, end;
};

// A record of any kind except the compact ones.
struct TraceEvent {
  uint32_t kind;  // enum dht_event_kind
  uint32_t order = 0;
  uint64_t stamp = 0;  // 0: unstamped
  uint64_t size = 1;
  uint64_t address = 0;  // or the module of a region
  uint32_t other_tid = 0;
  uint32_t tokens = 0;   // of a semaphore
  bool earlier = false;  // an access that belongs before the last written event
  const TraceRange* ranges = nullptr;
  size_t range_count = 0;
};

class ChunkEncoder {
 public:
  static constexpr size_t kLongest = 64;  // bytes of any record but a region's, with what it clears
  static size_t region_bytes(size_t ranges) { return kLongest + ranges * 20; }

  // `payload` must be zero. The tables are zero, or were used by an earlier chunk.
  void begin(SiteTables* tables, uint8_t* payload, size_t room, uint64_t base_stamp);
  void close() { at_ = end_ = payload_ = nullptr; }  // between enter() and leave()

  bool has_room(size_t bytes) const { return static_cast<size_t>(end_ - at_) >= bytes; }
  size_t size() const { return static_cast<size_t>(at_ - payload_); }
  bool is_open() const { return payload_ != nullptr; }
  uint64_t events() const { return events_; }
  uint64_t last_stamp() const { return stamp_; }

  bool is_busy() const { return __atomic_load_n(&busy_, __ATOMIC_RELAXED) != 0; }
  // Brackets of the slow path. enter() is false inside a signal handler that interrupted a record.
  bool enter() {
    if (is_busy()) return false;
    set_busy(1);
    return true;
  }
  void leave(bool quick) {
    limit_ = quick && end_ - at_ > kSlack ? end_ - kSlack : nullptr;
    set_busy(0);
  }

  // kTag: DHT_COMPACT, write and size bits. False: take the slow path.
  template <uint32_t kTag>
  __attribute__((always_inline)) bool access(uint64_t address, uint64_t pc);
  // The same for a known site that was not the predicted one.
  bool access_elsewhere(uint32_t tag, uint64_t address, uint64_t pc);
  // Function entry and exit on the fast path.
  __attribute__((always_inline)) bool entry(uint64_t pc);
  __attribute__((always_inline)) bool exit();

  // --- Between enter() and leave(), with room.
  SiteSlot* find(uint64_t pc);  // null: define it
  SiteSlot* no_site() { return &tables_->slots[0]; }
  SiteSlot* define(uint64_t pc, uint64_t module, uint64_t offset);
  SiteSlot* define_label(uint64_t pc, const char* label);
  void put_access(uint32_t tag, SiteSlot* slot, uint64_t address);
  void put_entry(SiteSlot* slot);
  void put_exit();
  void put_event(SiteSlot* slot, const TraceEvent& event);

 private:
  static constexpr ptrdiff_t kSlack = 48;  // the longest compact record, a function entry's long
                                           // form, and the bytes that one store writes past them
  void set_busy(uint32_t busy) {
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    __atomic_store_n(&busy_, busy, __ATOMIC_RELAXED);
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
  }
  // Whether the fast path is available; if so, marks the encoder busy.
  bool begin_quick() {
    if (__builtin_expect(is_busy(), 0)) return false;
    set_busy(1);
    if (__builtin_expect(at_ < limit_, 1)) return true;
    set_busy(0);
    return false;
  }
  void commit(uint8_t tag, size_t size) {
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    __atomic_store_n(at_, tag, __ATOMIC_RELEASE);
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    at_ += size;
    ++events_;
  }
  static uint8_t* put_varint(uint8_t* at, uint64_t value) {
    while (value >= 0x80) {
      *at++ = static_cast<uint8_t>(value | 0x80);
      value >>= 7;
    }
    *at++ = static_cast<uint8_t>(value);
    return at;
  }
  static uint64_t zigzag(uint64_t value) {
    return (value << 1) ^ static_cast<uint64_t>(static_cast<int64_t>(value) >> 63);
  }
  static uint32_t hash(uint64_t pc) {
    return static_cast<uint32_t>((pc * 0x9e3779b97f4a7c15ULL) >> 51) % SiteTables::kBuckets;
  }
  void follow(SiteSlot* slot) {
    previous_->successor = slot;
    previous_ = slot;
  }
  SiteSlot* new_slot(uint64_t pc);
  void put_delta(uint32_t tag, SiteSlot* slot, bool predicted, uint64_t delta);
  uint8_t* put_ranges(uint8_t* at, const TraceEvent& event);
  void put_predicted_site(uint32_t tag, uint64_t delta);
  bool entry_elsewhere(uint64_t pc);

  uint8_t* at_ = nullptr;  // position of the next record
  uint8_t* limit_ = nullptr;
  uint32_t busy_ = 0;
  uint32_t next_slot_ = 1;
  SiteSlot* previous_ = nullptr;
  uint64_t events_ = 0;
  uint64_t stamp_ = 0;
  uint8_t* end_ = nullptr;
  uint8_t* payload_ = nullptr;
  SiteTables* tables_ = nullptr;
};

template <uint32_t kTag>
inline bool ChunkEncoder::access(uint64_t address, uint64_t pc) {
  if (!begin_quick()) return false;
  SiteSlot* const slot = previous_->successor;
  if (__builtin_expect(slot->pc != pc, 0)) {
    set_busy(0);
    return false;
  }
  const uint64_t delta = address - slot->predicted();
  slot->saw(address);
  previous_ = slot;
  if (__builtin_expect(delta != 0, 0)) {
    put_predicted_site(kTag | DHT_COMPACT_PREDICTED, delta);
    return true;
  }
  uint8_t* const at = at_;
  __atomic_store_n(at, static_cast<uint8_t>(kTag | DHT_COMPACT_PREDICTED), __ATOMIC_RELEASE);
  at_ = at + 1;
  ++events_;
  set_busy(0);
  return true;
}

inline bool ChunkEncoder::entry(uint64_t pc) {
  if (!begin_quick()) return false;
  SiteSlot* const slot = previous_->successor;
  if (slot->pc != pc || slot->predicted() != 0) return entry_elsewhere(pc);
  slot->saw(0);
  previous_ = slot;
  commit(DHT_COMPACT | (DHT_COMPACT_FUNCTION_ENTRY_PREDICTED << 3) | DHT_COMPACT_OTHER, 1);
  set_busy(0);
  return true;
}

inline bool ChunkEncoder::exit() {
  if (!begin_quick()) return false;
  put_exit();
  set_busy(0);
  return true;
}

inline void ChunkEncoder::put_exit() {
  commit(DHT_COMPACT | (DHT_COMPACT_FUNCTION_EXIT << 3) | DHT_COMPACT_OTHER, 1);
}

}  // namespace deadheat::runtime
