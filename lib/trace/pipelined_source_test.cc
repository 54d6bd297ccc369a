// The pipelined reader yields exactly the inner source's events; rewinding and stopping early are
// safe.
#include "lib/trace/pipelined_source.h"

#include <gtest/gtest.h>

#include "lib/base/random.h"

namespace deadheat::trace {
namespace {

// Batches of unusual sizes, some with regions.
class Numbers : public Source {
 public:
  Numbers(uint64_t batches, uint64_t fail_at) : batches_(batches), fail_at_(fail_at) {}
  Result<Batch> next() override {
    if (at_ == fail_at_) return Error{"broken on purpose", ""};
    if (at_ == batches_) return Batch{};
    Random random(++at_);
    events_.clear();
    ranges_.clear();
    for (uint64_t n = random.between(1, 9000); n > 0; --n) {
      Event event;
      event.address = random.next();
      if (random.chance(0.01)) {
        event.kind = EventKind::kRegionBegin;
        event.size = random.below(3);
        event.other = static_cast<uint32_t>(ranges_.size());
        for (uint64_t i = 0; i < event.size; ++i)
          ranges_.push_back({event.address, event.address + i});
      }
      events_.push_back(event);
    }
    return Batch{events_, ranges_};
  }
  Status rewind() override {
    at_ = 0;
    return Ok{};
  }
  std::vector<std::string> locate(std::span<const uint64_t> numbers) override {
    at_ = batches_;  // as if it had read on
    std::vector<std::string> places;
    for (const uint64_t number : numbers) places.push_back("place " + std::to_string(number));
    return places;
  }
  bool total_order() const override { return true; }
  size_t thread_count() const override { return 1; }
  std::string thread_name(ThreadId) const override { return std::to_string(at_); }
  SiteInfo site(SiteId) const override { return {}; }
  std::string object_name(uint64_t, EventKind) const override { return {}; }
  Counters counters() const override { return {}; }
  std::span<const std::string> problems() const override { return {}; }

 private:
  uint64_t batches_, fail_at_, at_ = 0;
  std::vector<Event> events_;
  std::vector<Range> ranges_;
};

// All relevant content of a trace as one list of numbers, independent of batch boundaries.
std::vector<uint64_t> content(Source& source, bool& failed) {
  std::vector<uint64_t> all;
  failed = false;
  for (;;) {
    auto batch = source.next();
    if (!batch) {
      failed = true;
      return all;
    }
    if (batch->events.empty()) return all;
    for (const Event& event : batch->events) {
      all.push_back(event.address);
      if (event.kind != EventKind::kRegionBegin) continue;
      for (const Range& range : batch->ranges.subspan(event.other, event.size))
        all.push_back(range.end);
    }
  }
}

TEST(PipelinedSource, SameEventsAlsoAfterRewind) {
  Numbers plain(40, 1000), inner(40, 1000);
  bool failed = false;
  const auto expected = content(plain, failed);
  PipelinedSource pipelined(inner);
  EXPECT_EQ(content(pipelined, failed), expected);
  EXPECT_FALSE(failed);
  ASSERT_TRUE(pipelined.rewind());
  EXPECT_EQ(content(pipelined, failed), expected);
}

TEST(PipelinedSource, ErrorsComeThroughInTheirPlace) {
  Numbers plain(40, 17), inner(40, 17);
  bool failed = false;
  const auto expected = content(plain, failed);
  PipelinedSource pipelined(inner);
  EXPECT_EQ(content(pipelined, failed), expected);
  EXPECT_TRUE(failed);
}

TEST(PipelinedSource, LocatesAndReadsAgain) {
  Numbers plain(40, 1000), inner(40, 1000);
  bool failed = false;
  const auto expected = content(plain, failed);
  PipelinedSource pipelined(inner);
  ASSERT_TRUE(pipelined.next());
  const std::vector<uint64_t> numbers = {3, 100'000};
  EXPECT_EQ(pipelined.locate(numbers), (std::vector<std::string>{"place 3", "place 100000"}));
  ASSERT_TRUE(pipelined.rewind());
  EXPECT_EQ(content(pipelined, failed), expected);
}

TEST(PipelinedSource, StoppingEarlyAndAskingForNames) {
  for (int taken = 0; taken < 5; ++taken) {
    Numbers inner(200, 1000);
    PipelinedSource pipelined(inner);
    for (int i = 0; i < taken; ++i) ASSERT_TRUE(pipelined.next());
    EXPECT_FALSE(pipelined.thread_name(0).empty());
    ASSERT_TRUE(pipelined.rewind());
    auto batch = pipelined.next();
    ASSERT_TRUE(batch);
    EXPECT_FALSE(batch->events.empty());
  }
}

}  // namespace
}  // namespace deadheat::trace
