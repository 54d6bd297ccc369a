// Writer and reader are inverse: random events survive the container in every
// mode.
#include <gtest/gtest.h>

#include <map>
#include <thread>
#include <tuple>

#include "abi/trace_format.h"
#include "lib/trace/decoder.h"
#include "lib/trace/trace_fixture.h"

namespace deadheat::trace {
namespace {

struct Mode {
  size_t chunk_size;
  int zstd_level;
  bool total_order;
  bool dense;
  uint32_t threads;
  uint64_t memory_limit = 256 << 20;
};

class Container : public testing::TestWithParam<std::tuple<Mode, uint64_t>> {};

SiteInfo site_info(uint32_t number) {
  if (number % 3 == 0)
    return {.label = "line " + std::to_string(number), .module = {}, .build_id = {}, .offset = 0};
  return {.label = {},
          .module = "/lib/m" + std::to_string(number % 5) + ".so",
          .build_id = "00ff0" + std::to_string(number % 5),
          .offset = number * 16};
}

using SiteKey = std::tuple<std::string, std::string, uint64_t>;

SiteKey key_of(const SiteInfo& info) { return {info.label, info.module, info.offset}; }

TEST_P(Container, RoundTrip) {
  const auto& [mode, seed] = GetParam();
  SCOPED_TRACE("seed " + std::to_string(seed));
  Random random(seed);
  ScratchFile file;
  WriterOptions options;
  options.chunk_size = mode.chunk_size;
  options.zstd_level = mode.zstd_level;
  options.total_order = mode.total_order;
  options.dense_stamps = mode.dense;
  constexpr uint32_t kSites = 300;
  std::map<SiteKey, uint32_t> numbers;
  for (uint32_t i = 0; i < kSites; ++i) numbers[key_of(site_info(i))] = i;
  std::vector<WholeEvent> written;
  {
    auto writer = TraceWriter::create(file.path(), options);
    ASSERT_TRUE(writer) << writer.error().message;
    for (uint32_t tid = 0; tid < mode.threads; ++tid)
      (*writer)->name_thread(tid, "thread-" + std::to_string(tid));
    for (uint32_t i = 0; i < kSites; ++i) EXPECT_EQ((*writer)->site(site_info(i)), i);
    uint64_t stamp = 0;
    for (int i = 0; i < 20'000; ++i) {
      WholeEvent made = random_event(random, static_cast<ThreadId>(random.below(mode.threads)),
                                     mode.threads, kSites);
      if (mode.total_order) made.event.stamped = true;
      if (mode.dense) {
        (*writer)->stream(made.event.thread).append(made.event, made.ranges);
      } else {
        stamp += made.event.stamped ? 1 + random.below(1000) : 0;
        (*writer)
            ->stream(made.event.thread)
            .append_at(made.event.stamped ? stamp : kUnstamped, made.event, made.ranges);
      }
      written.push_back(made);
    }
    auto closed = (*writer)->close();
    ASSERT_TRUE(closed) << closed.error().message;
  }

  ContainerOptions reading;
  reading.memory_limit = mode.memory_limit;
  auto source = open_container(file.path(), reading);
  ASSERT_NE(source, nullptr);
  EXPECT_EQ(source->total_order(), mode.total_order);
  for (int pass = 0; pass < 2; ++pass) {
    const std::vector<WholeEvent> got = read_all(*source);
    for (const std::string& line : source->problems()) ADD_FAILURE() << line;
    ASSERT_EQ(got.size(), written.size());
    // Stamped events in the order of writing, and each thread's events in its order.
    std::vector<WholeEvent> wrote_stamped, got_stamped;
    std::vector<std::vector<WholeEvent>> wrote_thread(mode.threads), got_thread(mode.threads);
    for (const WholeEvent& event : written) {
      wrote_thread[event.event.thread].push_back(event);
      if (event.event.stamped) wrote_stamped.push_back(event);
    }
    for (WholeEvent event : got) {
      if (event.event.site != kNoSite) {
        const SiteInfo info = source->site(event.event.site);
        const auto number = numbers.find(key_of(info));
        ASSERT_NE(number, numbers.end()) << info.label << info.module;
        EXPECT_EQ(info.build_id.empty(), !info.label.empty());
        event.event.site = number->second;
      }
      ASSERT_LT(event.event.thread, mode.threads);
      got_thread[event.event.thread].push_back(event);
      if (event.event.stamped) got_stamped.push_back(event);
    }
    EXPECT_TRUE(got_stamped == wrote_stamped);
    EXPECT_TRUE(got_thread == wrote_thread);
    EXPECT_EQ(source->thread_name(0), "thread-0");
    const std::vector<std::string> places = places_of(*source, got);
    EXPECT_EQ(source->locate(numbers_to(got.size())), places);
    const std::vector<uint64_t> few = {7, 9000, 9000, got.size(), got.size() + 1};
    EXPECT_EQ(source->locate(few), (std::vector<std::string>{places[6], places[8999], places[8999],
                                                             places.back(), kPlaceLost}));
    ASSERT_TRUE(source->rewind());
  }
}

INSTANTIATE_TEST_SUITE_P(
    Modes, Container,
    testing::Combine(testing::Values(Mode{256 << 10, 0, true, true, 4},
                                     Mode{1000, 0, true, true, 16}, Mode{1000, 3, true, true, 16},
                                     Mode{64, 0, false, true, 5}, Mode{4096, 1, false, true, 64},
                                     Mode{2000, 0, false, false, 8}, Mode{2000, 0, true, false, 8},
                                     Mode{256 << 10, 0, false, true, 1},
                                     Mode{3000, 3, true, true, 32, 20'000},
                                     Mode{3000, 0, false, true, 32, 20'000}),
                     testing::Values(1, 2)));

// Unstamped accesses come directly after the preceding stamped event of their thread.
TEST(ContainerOrder, UnstampedFollowTheirThreadsStampedEvent) {
  ScratchFile file;
  WriterOptions options;
  options.total_order = false;
  auto writer = TraceWriter::create(file.path(), options);
  ASSERT_TRUE(writer);
  auto add = [&](ThreadId thread, EventKind kind, uint64_t address, bool stamped) {
    Event event{.address = address, .size = kind <= EventKind::kWrite ? 8U : 0U, .thread = thread};
    event.kind = kind;
    event.stamped = stamped;
    if (kind == EventKind::kFork) event.other = 1;
    (*writer)->stream(thread).append(event);
  };
  add(0, EventKind::kRead, 100, false);
  add(0, EventKind::kFork, 0, true);
  add(1, EventKind::kWrite, 200, false);
  add(0, EventKind::kAcquire, 7, true);
  add(1, EventKind::kWrite, 208, false);
  add(0, EventKind::kWrite, 108, false);
  add(1, EventKind::kAcquire, 9, true);
  ASSERT_TRUE((*writer)->close());
  auto source = open_container(file.path());
  std::vector<uint64_t> order;
  for (const WholeEvent& event : read_all(*source)) order.push_back(event.event.address);
  EXPECT_EQ(order, (std::vector<uint64_t>{100, 0, 200, 208, 7, 108, 9}));
}

class NoContext : public DecoderContext {
 public:
  ThreadId thread(const StreamKey&) override { return 0; }
};

// A call publishes before it is known what it reads; its reads are delivered before it.
TEST(ContainerOrder, ReadsOfASendComeBeforeIt) {
  constexpr uint8_t kStamped = DHT_EVENT_STAMPED, kEarlier = DHT_EVENT_EARLIER;
  const auto tag = [](int kind) { return static_cast<uint8_t>(DHT_RECORD_EVENT + kind); };
  // length, flags, [stamp], site, address: of slot 0, each from the one before it (zigzag).
  std::vector<uint8_t> bytes = {
      tag(DHT_HAPPENS_BEFORE), 4, kStamped, 1, 0, 20,  // 10
      tag(DHT_READ),           3, kEarlier, 0, 2,      // 11
      tag(DHT_READ),           3, kEarlier, 0, 2,      // 12
      tag(DHT_READ),           3, 0,        0, 0,      // 13: the stride is known
      tag(DHT_READ),           3, kEarlier, 0, 0,      // 14: nothing to go before
      tag(DHT_HAPPENS_BEFORE), 4, kStamped, 1, 0, 0,   // 15
      tag(DHT_READ),           3, kEarlier, 0, 0};     // 16
  const size_t size = bytes.size();
  bytes.resize(size + ChunkDecoder::kPadding);
  NoContext context;
  ChunkDecoder decoder;
  decoder.start(bytes.data(), size, 0, false, {}, 0, &context);
  std::vector<uint64_t> order;
  Event* none = nullptr;
  while (decoder.run(none, none) == ChunkDecoder::Stop::kPending)
    order.push_back(decoder.pending().event.address);
  EXPECT_EQ(order, (std::vector<uint64_t>{11, 12, 10, 13, 14, 16, 15}));
  EXPECT_EQ(decoder.stamp(), 2U);
}

TEST(ContainerWriter, ThreadsAppendAtOnce) {
  ScratchFile file;
  WriterOptions options;
  options.chunk_size = 512;
  auto writer = TraceWriter::create(file.path(), options);
  ASSERT_TRUE(writer);
  std::vector<std::thread> threads;
  for (uint32_t tid = 0; tid < 4; ++tid) {
    StreamWriter& stream = (*writer)->stream(tid);
    threads.emplace_back([&stream, tid, &writer] {
      const SiteId site = (*writer)->site(
          {.label = "at " + std::to_string(tid), .module = {}, .build_id = {}, .offset = 0});
      for (uint64_t i = 0; i < 5000; ++i) {
        Event event{.address = 0x1000 + i * 8, .size = 8, .thread = tid, .site = site};
        stream.append(event);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  ASSERT_TRUE((*writer)->close());
  auto source = open_container(file.path());
  EXPECT_EQ(read_all(*source).size(), 20'000U);
  EXPECT_TRUE(source->problems().empty());
}

// The aim is below 4 bytes an event on what a loop does; printed, and held at 3.
TEST(ContainerSize, LoopsTakeFewBytes) {
  ScratchFile file;
  WriterOptions options;
  options.total_order = false;
  auto writer = TraceWriter::create(file.path(), options);
  ASSERT_TRUE(writer);
  std::vector<SiteId> sites;
  for (int i = 0; i < 8; ++i)
    sites.push_back((*writer)->site({.label = {},
                                     .module = "/bin/a",
                                     .build_id = "01",
                                     .offset = 0x1000U + static_cast<uint64_t>(i) * 7}));
  Random random(1);
  uint64_t events = 0;
  StreamWriter& stream = (*writer)->stream(0);
  auto access = [&](int site, EventKind kind, uint64_t address, uint64_t size) {
    Event event{
        .address = address, .size = size, .thread = 0, .site = sites[static_cast<size_t>(site)]};
    event.kind = kind;
    event.stamped = false;
    stream.append(event);
    ++events;
  };
  for (uint64_t i = 0; i < 200;
       ++i) {  // c[i][j] += a[i][k] * b[k][j]; a histogram; a list walk; a lock a round
    for (uint64_t j = 0; j < 20; ++j) {
      for (uint64_t k = 0; k < 20; ++k) {
        access(0, EventKind::kRead, 0x7f0000000000 + (i * 20 + k) * 8, 8);
        access(1, EventKind::kRead, 0x7f0000100000 + (k * 20 + j) * 8, 8);
        access(2, EventKind::kWrite, 0x7f0000200000 + (i * 20 + j) * 8, 8);
      }
      access(3, EventKind::kRead, 0x7f0000300000 + random.below(256) * 4, 4);
      access(4, EventKind::kWrite, 0x7f0000300000 + random.below(256) * 4, 4);
      access(5, EventKind::kRead, 0x7f0000400000 + random.below(1 << 16) * 16, 8);
    }
    Event lock{.address = 0x7fff00001000, .size = 0, .thread = 0, .site = sites[6]};
    lock.kind = EventKind::kAcquire;
    stream.append(lock);
    lock.kind = EventKind::kRelease;
    lock.site = sites[7];
    stream.append(lock);
    events += 2;
  }
  ASSERT_TRUE((*writer)->close());
  const double bytes =
      static_cast<double>((*writer)->bytes_written()) / static_cast<double>(events);
  std::printf("%.2f bytes an event on a loop workload (%llu events)\n", bytes,
              static_cast<unsigned long long>(events));
  RecordProperty("bytes_per_event", std::to_string(bytes));
  EXPECT_LT(bytes, 3.0);
  auto source = open_container(file.path());
  EXPECT_EQ(read_all(*source).size(), events);
}

}  // namespace
}  // namespace deadheat::trace
