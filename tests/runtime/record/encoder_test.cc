// The recorder's encoder against the host's decoder, on random events: what goes in comes out,
// wherever the chunk ends.
#include "runtime/record/encoder.h"

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "lib/trace/decoder.h"
#include "lib/trace/event_names.h"

namespace deadheat {
namespace {

using runtime::ChunkEncoder;
using runtime::SiteSlot;
using runtime::SiteTables;
using runtime::TraceEvent;
using runtime::TraceRange;
using trace::Event;
using trace::EventKind;
using trace::Range;

constexpr uint32_t kPid = 7, kTid = 3;

class Context : public trace::DecoderContext {
 public:
  trace::ThreadId thread(const trace::StreamKey& key) override {
    EXPECT_EQ(key.pid, kPid);
    return key.tid;
  }
};

struct Seen {
  Event event;
  uint64_t stamp = 0;
  uint64_t pc = 0;
  std::vector<Range> ranges;
};

template <uint32_t kTag>
bool access(ChunkEncoder& encoder, uint64_t address, uint64_t pc) {
  return encoder.access<kTag>(address, pc);
}
template <size_t... kIndex>
bool access_by(uint32_t tag, ChunkEncoder& encoder, uint64_t address, uint64_t pc,
               std::index_sequence<kIndex...>) {
  bool done = false;
  ((((0x80U | kIndex << 4) == tag) &&
    (done = access < 0x80U | kIndex << 4 > (encoder, address, pc))),
   ...);
  return done;
}

class Workload {
 public:
  Workload(uint64_t seed, uint32_t sites) : random_(seed), sites_(sites) {
    memory_.resize(kRoom);
    tables_ = std::make_unique<SiteTables>();
    *tables_ = {};
  }

  // One chunk, full or of `events` events.
  void fill(uint64_t base_stamp, size_t events) {
    std::fill(memory_.begin(), memory_.end(), 0);
    written_.clear();
    stamp_ = base_stamp_ = base_stamp;
    encoder_.begin(tables_.get(), memory_.data(), memory_.size(), base_stamp);
    encoder_.leave(true);
    for (size_t i = 0; i < events && step(); ++i) {
    }
  }

  // Cut: as a killed writer leaves it, the rest of the room zero.
  void check() {
    trace::ChunkDecoder decoder;
    Context context;
    ASSERT_EQ(encoder_.events(), written_.size());
    std::vector<uint8_t> payload(memory_);
    payload.resize(memory_.size() + trace::ChunkDecoder::kPadding);
    decoder.start(payload.data(), memory_.size(), base_stamp_, false, {kPid, 0, kTid}, kTid,
                  &context);
    std::vector<Event> buffer(1000);
    size_t at = 0;
    for (;;) {
      Event* out = buffer.data();
      const auto stop = decoder.run(out, buffer.data() + buffer.size());
      for (const Event* event = buffer.data(); event < out; ++event)
        ASSERT_NO_FATAL_FAILURE(compare(*event, 0, {}, context, at++));
      if (stop == trace::ChunkDecoder::Stop::kPending) {
        const auto& pending = decoder.pending();
        const uint64_t stamp = pending.stamp == trace::kUnstamped ? 0 : pending.stamp;
        ASSERT_NO_FATAL_FAILURE(compare(pending.event, stamp, pending.ranges, context, at++));
      }
      ASSERT_NE(stop, trace::ChunkDecoder::Stop::kBad) << "after " << at;
      if (stop == trace::ChunkDecoder::Stop::kEnd) break;
    }
    EXPECT_EQ(at, written_.size());
    EXPECT_EQ(decoder.unknown_records(), 0U);
    EXPECT_EQ(encoder_.last_stamp(), stamp_);
  }

 private:
  static constexpr size_t kRoom = 60'000;

  uint64_t below(uint64_t bound) { return random_() % bound; }
  uint64_t some_pc() {
    if (below(4) != 0) return 0x1000 + (pc_walk_++ % 8) * 5;  // a loop
    return 0x1000 + below(sites_) * 5;
  }
  uint64_t some_address(uint64_t pc) {
    switch (below(6)) {
      case 0:
        return random_() >> below(64);
      case 1:
        return last_ += below(200) - 100;
      default:
        return last_ = strides_[pc] += (pc % 7) * 8;
    }
  }

  SiteSlot* site(uint64_t pc) {
    if (below(50) == 0) return encoder_.no_site();
    SiteSlot* const found = encoder_.find(pc);
    if (found != nullptr) return found;
    return pc % 3 == 0 ? encoder_.define_label(pc, ("label " + std::to_string(pc)).c_str())
                       : encoder_.define(pc, pc % 11, pc * 3);
  }

  void keep(const Event& event, uint64_t stamp, uint64_t pc, std::vector<Range> ranges = {}) {
    written_.push_back({event, stamp, pc, std::move(ranges)});
  }

  bool step() {
    if (below(10) < 8) return plain();
    if (below(2) == 0) return call();
    return long_event();
  }

  bool plain() {
    const uint64_t pc = some_pc(), address = some_address(pc);
    const auto size_code = static_cast<uint32_t>(below(4));
    const bool write = below(2) == 0;
    const uint32_t tag = 0x80 | (write ? 0x40U : 0U) | size_code << 4;
    Event event;
    event.kind = write ? EventKind::kWrite : EventKind::kRead;
    event.address = address;
    event.size = 1ULL << size_code;
    if (access_by(tag, encoder_, address, pc, std::make_index_sequence<8>())) {
      keep(event, 0, pc);
      return true;
    }
    EXPECT_TRUE(encoder_.enter());
    const bool room = encoder_.has_room(2 * ChunkEncoder::kLongest);
    if (room) {
      SiteSlot* const slot = site(pc);
      encoder_.put_access(tag, slot, address);
      keep(event, 0, slot->pc);
    }
    encoder_.leave(true);
    return room;
  }

  bool call() {
    const uint64_t pc = some_pc();
    Event event;
    event.kind = below(2) == 0 ? EventKind::kFunctionExit : EventKind::kFunctionEntry;
    const bool exits = event.kind == EventKind::kFunctionExit;
    if (exits ? encoder_.exit() : encoder_.entry(pc)) {
      keep(event, 0, exits ? 0 : pc);
      return true;
    }
    EXPECT_TRUE(encoder_.enter());
    const bool room = encoder_.has_room(2 * ChunkEncoder::kLongest);
    if (room && exits) {
      encoder_.put_exit();
      keep(event, 0, 0);
    } else if (room) {
      SiteSlot* const slot = site(pc);
      encoder_.put_entry(slot);
      keep(event, 0, slot->pc);
    }
    encoder_.leave(true);
    return room;
  }

  bool long_event() {
    static constexpr uint32_t kKinds[] = {
        DHT_READ,          DHT_WRITE,          DHT_READ_MODIFY_WRITE,
        DHT_FENCE,         DHT_ACQUIRE,        DHT_RELEASE,
        DHT_FORK,          DHT_JOIN,           DHT_ALLOC,
        DHT_FREE,          DHT_REGION_BEGIN,   DHT_REGION_END,
        DHT_BARRIER_ENTER, DHT_HAPPENS_BEFORE, DHT_SEMAPHORE_WAIT,
        DHT_ONCE_SEEN,     DHT_SEMAPHORE_INIT, DHT_SEMAPHORE_SEEN};
    const uint32_t kind = kKinds[below(std::size(kKinds))];
    const uint64_t pc = some_pc();
    const bool region = kind == DHT_REGION_BEGIN || kind == DHT_REGION_END;
    const bool thread = kind == DHT_FORK || kind == DHT_JOIN;
    std::vector<TraceRange> ranges(region ? below(40) : 0);
    EXPECT_TRUE(encoder_.enter());
    const bool room =
        encoder_.has_room(ChunkEncoder::region_bytes(ranges.size()) + ChunkEncoder::kLongest);
    if (room) {
      Event event;
      std::vector<Range> expected;
      for (TraceRange& range : ranges) {
        range.begin = random_() >> (17 + below(40));
        range.end = range.begin + below(5000);
        expected.push_back({range.begin, range.end});
      }
      TraceEvent out{.kind = kind};
      event.kind = static_cast<EventKind>(kind);
      const bool sized = kind <= DHT_READ_MODIFY_WRITE || kind == DHT_ALLOC || kind == DHT_FREE;
      if (sized) event.size = out.size = below(3) == 0 ? below(100'000) : 1ULL << below(8);
      if (region) event.size = ranges.size();
      if (kind != DHT_FENCE && !thread) event.address = out.address = random_() >> below(60);
      if (thread) event.other = out.other_tid = static_cast<uint32_t>(below(1000));
      if (kind == DHT_SEMAPHORE_INIT)
        event.other = out.tokens =
            below(4) == 0 ? DHT_UNKNOWN_TOKENS : static_cast<uint32_t>(below(1u << 31));
      out.order = static_cast<uint32_t>(below(7));
      event.order = static_cast<trace::MemoryOrder>(out.order);
      out.stamp = below(5) == 0 ? 0 : stamp_ += 1 + below(300);
      out.ranges = ranges.data();
      out.range_count = ranges.size();
      SiteSlot* const slot = site(pc);
      encoder_.put_event(slot, out);
      keep(event, out.stamp, slot->pc, expected);
    }
    encoder_.leave(true);
    return room;
  }

  void compare(const Event& event, uint64_t stamp, const std::vector<Range>& ranges,
               const Context& context, size_t at) {
    ASSERT_LT(at, written_.size());
    const Seen& seen = written_[at];
    ASSERT_EQ(event.kind, seen.event.kind) << at;
    ASSERT_EQ(event.address, seen.event.address) << at;
    ASSERT_EQ(event.size, seen.event.size) << at;
    ASSERT_EQ(event.order, seen.event.order) << at;
    ASSERT_EQ(event.thread, kTid);
    ASSERT_EQ(stamp, seen.stamp) << at;
    ASSERT_EQ(ranges, seen.ranges) << at;
    if (trace::names_thread(event.kind)) {
      ASSERT_EQ(event.other, seen.event.other);
    }
    if (seen.pc == 0) {
      ASSERT_EQ(event.site, trace::kNoSite) << at;
    } else if (seen.pc % 3 == 0) {
      ASSERT_EQ(context.sites.info(event.site).label, "label " + std::to_string(seen.pc)) << at;
    } else {
      ASSERT_EQ(context.sites.info(event.site).offset, seen.pc * 3) << at;
    }
  }

  std::mt19937_64 random_;
  uint32_t sites_;
  std::vector<uint8_t> memory_;
  std::unique_ptr<SiteTables> tables_;
  ChunkEncoder encoder_;
  std::vector<Seen> written_;
  std::map<uint64_t, uint64_t> strides_;
  uint64_t pc_walk_ = 0, last_ = 0x7f0000000000, stamp_ = 0, base_stamp_ = 0;
};

TEST(RecordEncoder, DecodesToWhatWasWritten) {
  for (uint64_t seed = 1; seed <= 60; ++seed) {
    SCOPED_TRACE(seed);
    Workload workload(seed, seed % 3 == 0 ? 20'000 : seed % 3 == 1 ? 40 : 600);
    for (const size_t events : {size_t{0}, size_t{1}, size_t{777}, ~size_t{0}, ~size_t{0}}) {
      workload.fill(seed * 1000, events);
      ASSERT_NO_FATAL_FAILURE(workload.check());
    }
  }
}

TEST(RecordEncoder, ASignalHandlerCannotWriteIntoARecord) {
  std::vector<uint8_t> memory(4096);
  auto tables = std::make_unique<SiteTables>();
  *tables = {};
  ChunkEncoder encoder;
  encoder.begin(tables.get(), memory.data(), memory.size(), 0);
  ASSERT_TRUE(encoder.enter());
  EXPECT_TRUE(encoder.is_busy());
  EXPECT_FALSE(encoder.enter());
  EXPECT_FALSE(encoder.access<DHT_COMPACT>(1, 2));
  EXPECT_FALSE(encoder.exit());
  encoder.define(2, 0, 0);
  encoder.leave(true);
  EXPECT_FALSE(encoder.is_busy());
  EXPECT_FALSE(encoder.access<DHT_COMPACT>(1, 2));  // not the predicted site
  EXPECT_TRUE(encoder.access_elsewhere(DHT_COMPACT, 1, 2));
  EXPECT_TRUE(encoder.access<DHT_COMPACT>(1, 2));
}

}  // namespace
}  // namespace deadheat
