// Decodes the payload of one chunk to events: the inverse of encoder.h, but for untrusted bytes. It
// never reads past the payload, allocates nothing by a count from the file, and ends the chunk at a
// malformed record.
//
// run() is the hot path: it writes unstamped compact accesses straight into the caller's events
// until another record comes, which is decoded into pending(). It is fast because kPadding readable
// bytes follow the payload, so one bounds check per record suffices.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "lib/trace/encoder.h"
#include "lib/trace/event.h"
#include "lib/trace/predictor.h"
#include "lib/trace/site_table.h"

namespace deadheat::trace {

// What the decoder needs from its trace.
class DecoderContext {
 public:
  virtual ~DecoderContext() = default;
  virtual ThreadId thread(const StreamKey& key) = 0;
  SiteTable sites;
};

class ChunkDecoder {
 public:
  static constexpr size_t kPadding = 64;

  enum class Stop {
    kFull,     // no room for another event
    kPending,  // pending() holds an event
    kEnd,      // of the chunk
    kBad       // malformed record at offset(); the rest of the chunk is lost
  };

  struct Pending {
    Event event;
    uint64_t stamp = kUnstamped;
    std::vector<Range> ranges;
  };

  // payload[size .. size + kPadding) must be readable. `key` and `thread` are the stream's.
  void start(const uint8_t* payload, size_t size, uint64_t base_stamp, bool every_stamped,
             const StreamKey& key, ThreadId thread, DecoderContext* context);

  // After start() with a smaller size: the payload has `size` bytes after all.
  void extend(size_t size) { end_ = payload_ + size; }
  bool every_stamped() const { return every_stamped_; }

  // Appends unstamped accesses at `out` (advancing it) until a Stop occurs.
  Stop run(Event*& out, Event* out_end);

  // For chunks with every event stamped in a dense total order: stores each event at window[stamp -
  // window_begin] until one falls outside (it becomes pending) or another record comes. An occupied
  // place (kind != kCount) also makes the event pending.
  Stop scatter(Event* window, uint64_t window_begin, uint64_t window_size, uint64_t& stored);

  Pending& pending() { return pending_; }
  uint64_t stamp() const { return stamp_; }
  uint64_t events() const { return events_; }  // decoded so far, including pending
  uint64_t unknown_records() const { return unknown_records_; }
  size_t offset() const { return static_cast<size_t>(p_ - payload_); }
  size_t pending_offset() const {
    return static_cast<size_t>(pending_at_ - payload_);
  }  // of the pending record
  size_t memory() const {
    return table_size_ * sizeof(Slot) + pending_.ranges.capacity() * sizeof(Range);
  }
  void release_memory();

 private:
  bool run_compact(Event*& out, Event* out_end, Stop& stop);
  bool scatter_compact(Event* window, uint64_t window_begin, uint64_t window_size, uint64_t& stored,
                       Stop& stop);
  enum class Long { kEvent, kSkipped, kEnd, kBad };
  // What the hot loops keep in registers: stores through Event* may alias members, but not these.
  struct Hot {
    Slot* table;
    size_t table_size;
    uint32_t previous;
    ThreadId thread;
    bool stamped;
  };
  Hot hot() const { return {table_.get(), table_size_, previous_, thread_, every_stamped_}; }
  static const uint8_t* compact_access(const uint8_t* p, uint8_t tag, Hot& hot, Event& out);
  const uint8_t* compact_other(const uint8_t* p, uint8_t tag, Event& out);
  Long long_record();
  bool next_is_earlier() const;
  Stop take_held();
  bool event_record(uint32_t kind, const uint8_t* p, const uint8_t* end);
  bool event_fields(Event& event, uint8_t flags, Slot& slot, const uint8_t* p, const uint8_t* end);
  bool site_record(const uint8_t* p, const uint8_t* end);
  bool is_defined(uint64_t slot) const {
    return slot < table_size_ && table_[slot].site != kUndefinedSite;
  }
  void follow(uint32_t slot) {
    table_[previous_].successor = slot;
    previous_ = slot;
  }

  const uint8_t* payload_ = nullptr;
  const uint8_t* p_ = nullptr;
  const uint8_t* end_ = nullptr;
  const uint8_t* pending_at_ = nullptr;
  std::unique_ptr<Slot[]> table_;
  size_t table_size_ = 0;
  uint32_t previous_ = 0;
  bool every_stamped_ = false;
  uint64_t stamp_ = 0;
  ThreadId thread_ = 0;
  StreamKey key_;
  DecoderContext* context_ = nullptr;
  uint64_t events_ = 0;
  uint64_t unknown_records_ = 0;
  Pending pending_;
  // An event whose reads follow it in the chunk (DHT_EVENT_EARLIER) waits here while they go first.
  Event held_;
  uint64_t held_stamp_ = 0;
  const uint8_t* held_at_ = nullptr;  // null: none
};

}  // namespace deadheat::trace
