// Encodes the events of one stream into the payload of one chunk (abi/trace_format.h defines the
// records).
//
// The caller assigns stamps and decides when a chunk is full; begin() resets all state, which makes
// chunks independent. decoder.h is the inverse; container_test.cc compares the two on random
// events.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lib/trace/event.h"
#include "lib/trace/predictor.h"

namespace deadheat::trace {

struct StreamKey {
  uint32_t pid = 0;
  uint32_t generation = 0;
  uint32_t tid = 0;
  friend auto operator<=>(const StreamKey&, const StreamKey&) = default;
};

// A site as defined in a chunk: a place in a module of the stream's process, or a label.
struct SiteDefinition {
  bool is_label = true;
  uint32_t module = 0;
  uint64_t offset = 0;
  std::string label;
};

inline constexpr uint64_t kUnstamped = 0xffffffffffffffffULL;

class ChunkEncoder {
 public:
  // The payload is appended to `bytes`.
  explicit ChunkEncoder(std::vector<uint8_t>& bytes) : bytes_(bytes) {}

  void begin(uint64_t base_stamp, bool every_stamped);

  // The slot of `site` in this chunk, or 0 if it has none yet; then call define().
  uint32_t slot_of(SiteId site) const {
    return site < slot_of_site_.size() ? slot_of_site_[site] : 0;
  }
  uint32_t define(SiteId site, const SiteDefinition& definition);

  // `stamp` is kUnstamped or above every earlier stamp. `other_process` is the process of a forked
  // or joined thread, null if it is the same; event.other is then its tid.
  void append(const Event& event, uint32_t slot, uint64_t stamp, std::span<const Range> ranges,
              const StreamKey* other_process = nullptr);

  uint64_t events() const { return events_; }
  uint64_t last_stamp() const { return stamp_; }

 private:
  bool append_compact(const Event& event, uint32_t slot, uint64_t stamp);
  void append_long(const Event& event, uint32_t slot, uint64_t stamp, std::span<const Range> ranges,
                   const StreamKey* other_process);
  void put_record(uint8_t tag);
  void follow(uint32_t slot);

  std::vector<uint8_t>& bytes_;
  std::vector<uint8_t> scratch_;
  std::vector<Slot> slots_;
  std::vector<uint16_t> slot_of_site_;
  uint32_t next_slot_ = 1;
  uint32_t previous_ = 0;
  uint64_t stamp_ = 0;
  uint64_t events_ = 0;
  bool every_stamped_ = false;
};

}  // namespace deadheat::trace
