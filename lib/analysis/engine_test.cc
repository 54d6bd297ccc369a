// What random traces do not cover: C++20's memory model case by case, explanations, limits, hostile
// events.
#include "lib/analysis/engine.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "lib/analysis/findings.h"
#include "lib/analysis/incomplete/regions.h"
#include "lib/analysis/naive_twin.h"
#include "lib/trace/convert.h"
#include "lib/trace/pipelined_source.h"
#include "lib/trace/std_source.h"
#include "lib/trace/trace_fixture.h"

namespace deadheat::analysis {
namespace {

using trace::Event;
using trace::EventKind;
using trace::MemoryOrder;

constexpr uint64_t kData = 0x1000, kFlag = 0x2000, kLock = 0x3000;

class Builder {
 public:
  Builder& add(uint32_t thread, EventKind kind, uint64_t address, uint64_t size = 0,
               MemoryOrder order = MemoryOrder::kPlain) {
    Event event;
    event.thread = thread;
    event.kind = kind;
    event.address = address;
    event.size = size;
    event.order = order;
    event.site = ++sites_;
    trace_.events.push_back(event);
    return *this;
  }
  Builder& read(uint32_t t) { return add(t, EventKind::kRead, kData, 8); }
  Builder& write(uint32_t t) { return add(t, EventKind::kWrite, kData, 8); }
  Builder& load(uint32_t t, MemoryOrder o) { return add(t, EventKind::kRead, kFlag, 8, o); }
  Builder& store(uint32_t t, MemoryOrder o) { return add(t, EventKind::kWrite, kFlag, 8, o); }
  Builder& rmw(uint32_t t, MemoryOrder o) {
    return add(t, EventKind::kReadModifyWrite, kFlag, 8, o);
  }
  Builder& fence(uint32_t t, MemoryOrder o) { return add(t, EventKind::kFence, 0, 0, o); }
  Builder& fork(uint32_t t, uint32_t other) {
    add(t, EventKind::kFork, 0);
    trace_.events.back().other = other;
    return *this;
  }
  const Trace& trace() const { return trace_; }

 private:
  Trace trace_;
  uint32_t sites_ = 0;
};

Report run(const Trace& trace, const Options& options = {}) {
  MemorySource source(trace);
  auto report = analyze(source, options);
  EXPECT_TRUE(report);
  EXPECT_EQ(pairs_of(*report), naive_twin(trace, options).racy);
  return std::move(*report);
}
size_t racy(const Builder& builder) { return run(builder.trace()).pairs.size(); }

using enum MemoryOrder;

TEST(Engines, EachHasARowThatRuns) {
  const Trace trace = Builder().fork(0, 1).write(0).write(1).trace();
  std::set<std::string_view> names;
  for (const Engine& engine : engines()) {
    EXPECT_EQ(&engine_of(engine.kind), &engine);
    EXPECT_TRUE(names.insert(engine.name).second) << engine.name;
    Options options;
    options.engine = engine.kind;
    MemorySource source(trace);
    const auto report = analyze(source, options);
    ASSERT_TRUE(report) << engine.name;
    EXPECT_EQ(report.value().events, 3U) << engine.name;
    EXPECT_EQ(report.value().pairs.size(),
              engine.finds == model::CandidateKind::kDataRace ? 1U : 0U);
    EXPECT_TRUE(engine_name(options).starts_with(engine.name));
  }
}

// Sites are numbered as events are added, from 1.
TEST(Explanation, StacksAreTheCallsThatAreOpen) {
  Builder builder;
  builder.add(0, EventKind::kFunctionEntry, 0)
      .add(0, EventKind::kFunctionEntry, 0)
      .add(0, EventKind::kFunctionExit, 0)
      .add(0, EventKind::kFunctionEntry, 0)
      .write(0)
      .add(1, EventKind::kFunctionExit, 0)  // without its entry
      .add(1, EventKind::kFunctionEntry, 0)
      .write(1);
  const Report report = run(builder.trace());
  ASSERT_EQ(report.pairs.size(), 1U);
  EXPECT_EQ(report.pairs[0].first.calls, (std::vector<trace::SiteId>{1, 4}));
  EXPECT_EQ(report.pairs[0].second.calls, (std::vector<trace::SiteId>{7}));
}

TEST(MemoryModel, ReleaseAcquireOrders) {
  EXPECT_EQ(racy(Builder().write(0).store(0, kRelease).load(1, kAcquire).read(1)), 0U);
  EXPECT_EQ(racy(Builder().write(0).store(0, kSeqCst).load(1, kConsume).read(1)), 0U);
}

TEST(MemoryModel, RelaxedDoesNotOrder) {
  EXPECT_EQ(racy(Builder().write(0).store(0, kRelaxed).load(1, kAcquire).read(1)), 1U);
  EXPECT_EQ(racy(Builder().write(0).store(0, kRelease).load(1, kRelaxed).read(1)), 1U);
}

TEST(MemoryModel, ReadModifyWriteContinuesAReleaseSequence) {
  EXPECT_EQ(racy(Builder().write(0).store(0, kRelease).rmw(2, kRelaxed).load(1, kAcquire).read(1)),
            0U);
}

TEST(MemoryModel, AStoreEndsTheReleaseSequencesOfOtherThreads) {
  EXPECT_EQ(
      racy(Builder().write(0).store(0, kRelease).store(2, kRelaxed).load(1, kAcquire).read(1)), 1U);
  EXPECT_EQ(
      racy(Builder().write(0).store(0, kRelease).store(0, kRelaxed).load(1, kAcquire).read(1)), 0U);
  // The middle thread's read-modify-write headed a sequence too; the store after it continues only
  // the first one's.
  EXPECT_EQ(racy(Builder()
                     .store(0, kRelease)
                     .write(2)
                     .rmw(2, kRelease)
                     .store(0, kRelaxed)
                     .load(1, kAcquire)
                     .read(1)),
            1U);
}

TEST(MemoryModel, AStoreOfCxx20EndsThoseOfItsOwnThreadToo) {
  EXPECT_EQ(
      racy(Builder().write(0).store(0, kRelease).store(0, kRelaxed20).load(1, kAcquire).read(1)),
      1U);
  EXPECT_EQ(
      racy(Builder().write(0).store(0, kRelease).rmw(0, kRelaxed20).load(1, kAcquire).read(1)), 0U);
}

TEST(MemoryModel, Fences) {
  EXPECT_EQ(racy(Builder()
                     .write(0)
                     .fence(0, kRelease)
                     .store(0, kRelaxed)
                     .load(1, kRelaxed)
                     .fence(1, kAcquire)
                     .read(1)),
            0U);
  EXPECT_EQ(racy(Builder().write(0).fence(0, kSeqCst).store(0, kRelaxed).load(1, kAcquire).read(1)),
            0U);
  EXPECT_EQ(racy(Builder().write(0).store(0, kRelease).load(1, kRelaxed).fence(1, kSeqCst).read(1)),
            0U);
  // The fence comes after the store, or before the load: no order.
  EXPECT_EQ(
      racy(Builder().write(0).store(0, kRelaxed).fence(0, kRelease).load(1, kAcquire).read(1)), 1U);
  EXPECT_EQ(
      racy(Builder().write(0).store(0, kRelease).fence(1, kAcquire).load(1, kRelaxed).read(1)), 1U);
  // Two seq_cst fences alone create no happens-before.
  EXPECT_EQ(racy(Builder().write(0).fence(0, kSeqCst).fence(1, kSeqCst).read(1)), 1U);
}

TEST(MemoryModel, AtomicsDoNotRaceWithEachOtherButWithPlainAccesses) {
  EXPECT_EQ(racy(Builder().store(0, kRelaxed).store(1, kRelaxed)), 0U);
  EXPECT_EQ(racy(Builder().store(0, kRelaxed).add(1, EventKind::kRead, kFlag, 8)), 1U);
  EXPECT_EQ(racy(Builder().add(0, EventKind::kWrite, kFlag, 8).load(1, kAcquire)), 1U);
}

TEST(Accesses, WiderThanAGranuleAndPartlyOverlapping) {
  EXPECT_EQ(
      racy(Builder().add(0, EventKind::kWrite, 0x1004, 64).add(1, EventKind::kRead, 0x1040, 4)),
      1U);
  EXPECT_EQ(
      racy(Builder().add(0, EventKind::kWrite, 0x1004, 64).add(1, EventKind::kRead, 0x1044, 4)),
      0U);
  EXPECT_EQ(
      racy(Builder().add(0, EventKind::kWrite, 0x1000, 1).add(1, EventKind::kWrite, 0x1001, 1)),
      0U);
}

TEST(Accesses, ReuseOfMemoryIsNotARaceButUseAfterFreeIs) {
  EXPECT_EQ(racy(Builder()
                     .write(0)
                     .add(0, EventKind::kAlloc, kData, 8)
                     .add(1, EventKind::kAlloc, kData, 8)
                     .write(1)),
            0U);
  EXPECT_EQ(racy(Builder().add(0, EventKind::kFree, kData, 8).read(1)), 1U);
  EXPECT_EQ(racy(Builder().read(1).add(0, EventKind::kFree, kData, 8)), 1U);
}

TEST(Accesses, AReaderThatTheMergePutBeforeTheAllocation) {
  const auto pairs = [](const Trace& trace, bool total_order) {
    MemorySource source(trace, total_order);
    return analyze(source, {})->pairs.size();
  };
  Builder b;
  b.read(1).add(0, EventKind::kAlloc, kData, 8).write(0);
  EXPECT_EQ(pairs(b.trace(), false), 1U);  // it may have been later: then it raced
  EXPECT_EQ(pairs(b.trace(), true), 0U);   // it was before
  // It has released since: it was before.
  EXPECT_EQ(pairs(Builder()
                      .read(1)
                      .store(1, MemoryOrder::kRelease)
                      .add(0, EventKind::kAlloc, kData, 8)
                      .write(0)
                      .trace(),
                  false),
            0U);
  // A block that was freed had an earlier life.
  EXPECT_EQ(pairs(Builder()
                      .read(1)
                      .add(1, EventKind::kFree, kData, 8)
                      .add(0, EventKind::kAlloc, kData, 8)
                      .write(0)
                      .trace(),
                  false),
            0U);
  // A reset has no site.
  Trace reset = b.trace();
  reset.events[1].site = trace::kNoSite;
  EXPECT_EQ(pairs(reset, false), 0U);
}

TEST(Accesses, TheMarkOfANewBlockIsNoCandidate) {
  Builder b;
  b.add(0, EventKind::kAlloc, kData, 8);
  b.add(0, EventKind::kWrite, kData, 8, MemoryOrder::kRelaxed);
  Trace trace = b.read(1).trace();
  Options hybrid;
  hybrid.engine = EngineKind::kHybrid;
  EXPECT_EQ(run(trace, hybrid).pairs.size(), 1U);  // an atomic write at another line
  trace.events[1].site = trace.events[0].site;
  EXPECT_EQ(run(trace, hybrid).pairs.size(), 0U);
  EXPECT_EQ(run(trace).pairs.size(), 1U);  // unordered with the allocation: an observed race
}

TEST(Schedulable, ARaceBehindARaceIsAnArtefact) {
  // T1 sees T0's flag (a race), and only for that reason touches the data.
  Builder builder;
  builder.write(0).add(0, EventKind::kWrite, kFlag, 8).add(1, EventKind::kRead, kFlag, 8).read(1);
  const Report report = run(builder.trace());
  ASSERT_EQ(report.pairs.size(), 2U);
  EXPECT_EQ(report.pairs[0].schedulable, Schedulable::kYes);
  EXPECT_EQ(report.pairs[1].schedulable, Schedulable::kNo);
  // Undecidable without the total order.
  MemorySource partial(builder.trace(), false);
  auto unknown = analyze(partial, {});
  ASSERT_TRUE(unknown);
  EXPECT_EQ(unknown->pairs[1].schedulable, Schedulable::kUnknown);
}

TEST(Explanation, ShowsLocksStepsAndNumbers) {
  Builder builder;
  builder.add(0, EventKind::kAcquire, kLock).write(0).add(0, EventKind::kRelease, kLock).read(1);
  const Report report = run(builder.trace());
  ASSERT_EQ(report.pairs.size(), 1U);
  const RacyPair& pair = report.pairs[0];
  EXPECT_EQ(pair.first.locks, std::vector<uint64_t>{kLock});
  EXPECT_TRUE(pair.second.locks.empty());
  EXPECT_EQ(pair.first.event, 2U);
  EXPECT_EQ(pair.second.event, 4U);
  ASSERT_EQ(pair.steps.size(), 4U);
  EXPECT_EQ(pair.steps[0].event.kind, EventKind::kAcquire);
  EXPECT_TRUE(pair.steps[1].racing);
  EXPECT_TRUE(pair.steps[3].racing && pair.steps[3].second);
}

TEST(Findings, HybridAndIgnoredRegionsAreSuspicionsNotProofs) {
  Trace trace = Builder().write(0).read(1).trace();
  const auto verdict = [&](const Options& options) {
    MemorySource source(trace);
    auto report = analyze(source, options);
    const auto file =
        to_findings(*report, options, source, {"t.std", "trace:1", "deadheat analyze t.std", {}});
    EXPECT_EQ(file.findings.size(), 1U);
    return model::fold(file.findings[0]).state;
  };
  Options hybrid, ignore;
  hybrid.engine = EngineKind::kHybrid;
  ignore.engine = EngineKind::kRdit;
  ignore.missing = Missing::kIgnore;
  EXPECT_EQ(verdict({}), model::VerdictState::kTrueRace);
  EXPECT_EQ(verdict(hybrid), model::VerdictState::kUnknown);
  EXPECT_EQ(verdict(ignore), model::VerdictState::kTrueRace)
      << "no region in the trace: nothing was ignored";
  Event begin;
  begin.kind = EventKind::kRegionBegin;
  trace.events.insert(trace.events.begin() + 1, begin);
  EXPECT_EQ(verdict({}), model::VerdictState::kUnknown);
  EXPECT_EQ(verdict(ignore), model::VerdictState::kUnknown);
}

TEST(Findings, ATraceThatLacksSynchronisationProvesNothing) {
  // T0's acquire is missing: an earlier releaser may have been ordered before the write.
  const Trace trace = Builder().write(0).add(0, EventKind::kRelease, kLock).read(1).trace();
  MemorySource source(trace);
  auto report = analyze(source, {});
  ASSERT_TRUE(report);
  ASSERT_EQ(report->problems.size(), 1U);
  EXPECT_EQ(report->problems[0], "event 2: T0 releases a lock that it does not hold: 0x3000");
  const auto file = to_findings(*report, {}, source, {"t.std", "trace:1", "", {}});
  ASSERT_EQ(file.findings.size(), 1U);
  EXPECT_EQ(model::fold(file.findings[0]).state, model::VerdictState::kUnknown);
  EXPECT_NE(file.findings[0].evidence[0].why.find("lacks synchronisation"), std::string::npos);
}

uint64_t counter(const Report& report, std::string_view name) {
  for (const Counter& c : report.counters)
    if (c.name == name) return c.value;
  ADD_FAILURE() << "no counter " << name;
  return 0;
}

TEST(Limits, LossesAreCountedAndMemoryStaysBounded) {
  Builder builder;
  for (uint64_t i = 0; i < 4000; ++i) builder.add(i % 2, EventKind::kWrite, i * 4096, 8);
  MemorySource source(builder.trace());
  Options options;
  options.memory_limit = 1 << 20;
  auto report = analyze(source, options);
  ASSERT_TRUE(report);
  EXPECT_GT(counter(*report, "accesses_untracked"), 3000U);
  EXPECT_LE(counter(*report, "shadow_bytes"), options.memory_limit);
}

TEST(Limits, PairsPastTheLimitAreCounted) {
  Builder builder;
  for (uint64_t i = 0; i < 20; ++i) builder.add(i % 2, EventKind::kWrite, kData + i / 2 * 8, 8);
  MemorySource source(builder.trace());
  Options options;
  options.max_pairs = 4;
  auto report = analyze(source, options);
  ASSERT_TRUE(report);
  EXPECT_EQ(report->pairs.size(), 4U);
  EXPECT_EQ(counter(*report, "pairs_dropped"), 6U);
}

TEST(Hostile, AbsurdAddressesSizesAndThreads) {
  Builder builder;
  builder.add(0, EventKind::kFree, 0, ~0ULL).add(1, EventKind::kAlloc, 8, ~0ULL - 4);
  builder.add(0, EventKind::kWrite, ~0ULL - 3, 8).add(1, EventKind::kRead, ~0ULL, 8);
  builder.add(0xfffffffe, EventKind::kWrite, kData, 8).add(0, EventKind::kRelease, kLock);
  builder.add(1, EventKind::kJoin, 0)
      .add(1, EventKind::kFork, 0)
      .add(0, EventKind::kBarrierLeave, 1);
  builder.add(0, EventKind::kRegionEnd, 0);
  MemorySource source(builder.trace());
  Options options;
  options.engine = EngineKind::kRdit;
  auto report = analyze(source, options);
  ASSERT_TRUE(report);
  EXPECT_EQ(counter(*report, "events_of_untracked_threads"), 1U);
  EXPECT_EQ(counter(*report, "unmatched_releases"), 1U);
  EXPECT_EQ(counter(*report, "unmatched_region_ends"), 1U);
  EXPECT_GT(counter(*report, "bytes_clipped"), 0U);
}

// Enough events for several batches of every reader, with lines that are not events in between.
TEST(Hostile, OddEventsAreNamedWithTheirPlace) {
  std::string superset = "# deadheat text 1\n", plain;
  for (std::string* text : {&superset, &plain}) {
    for (int i = 0; i < 60'000; ++i) {
      *text += "T" + std::to_string(i % 3) + "|r(V" + std::to_string(i % 100) + ")|1\n";
      if (i % 1000 == 0) *text += "# a thousand\n";
    }
  }
  const auto line = [](const std::string& text, const char* number) {
    return "event " + std::string(number) + ", line " +
           std::to_string(1 + std::ranges::count(text, '\n')) + " (offset " +
           std::to_string(text.size()) + "): ";
  };
  std::vector<std::string> of_superset = {line(superset, "60,001") +
                                          "T1 releases a lock that it does not hold: L9"};
  superset += "T1|rel_shared(L9)|2\n";
  std::vector<std::string> of_plain = {line(plain, "60,001") +
                                       "T1 releases a lock that it does not hold: L9"};
  plain += "T1|rel(L9)|2\nT0|acq(L1)|3\n";
  of_plain.push_back(line(plain, "60,003") + "T2 acquires a lock that another thread holds: L1");
  plain += "T2|acq(L1)|4\nT0|r(V1)|5\n";

  for (const auto& [text, expected] : {std::pair(superset, of_superset), {plain, of_plain}}) {
    auto source = trace::StdSource::open(trace::Input::from_memory(
        {reinterpret_cast<const uint8_t*>(text.data()), text.size()}, "text"));
    auto report = analyze(**source, {});
    ASSERT_TRUE(report);
    EXPECT_EQ(report->problems, expected);
    ASSERT_TRUE((*source)->rewind());
    trace::PipelinedSource pipelined(**source);
    report = analyze(pipelined, {});
    ASSERT_TRUE(report);
    EXPECT_EQ(report->problems, expected);

    // As a container: the release is the stream's event in the chunk whose stamps enclose it.
    const trace::ScratchFile file;
    ASSERT_TRUE((*source)->rewind());
    ASSERT_TRUE(trace::convert(**source, file.path(), {.chunk_size = 4096}));
    const auto container = trace::open_container(file.path());
    ASSERT_NE(container, nullptr);
    std::string place;
    for (const trace::Chunk& chunk : container->index().chunks) {
      if (chunk.header.domain == DHT_DOMAIN_THREAD && chunk.header.tid == 1 &&
          chunk.header.base_stamp < 60'001 && chunk.header.last_stamp >= 60'001)
        place += "in the chunk at offset " + std::to_string(chunk.offset);
    }
    trace::PipelinedSource read_ahead(*container);
    report = analyze(read_ahead, {});
    ASSERT_TRUE(report);
    ASSERT_EQ(report->problems.size(), expected.size());
    EXPECT_EQ(report->problems[0],
              "event 60,001, " + place + ": T1 releases a lock that it does not hold: L9");
  }
}

TEST(Limits, HundredThousandThreadsStayWithinTheClocksMemory) {
  Builder builder;
  for (uint32_t thread = 1; thread <= 100'000; ++thread) builder.fork(0, thread);
  builder.write(1).read(100'000);
  MemorySource source(builder.trace());
  Options options;
  options.memory_limit = 256 << 20;
  auto report = analyze(source, options);
  ASSERT_TRUE(report);
  EXPECT_GT(counter(*report, "odd_forks") + counter(*report, "edges_dropped"), 0U);
  EXPECT_EQ(counter(*report, "events_of_untracked_threads"), 1U);
}

TEST(Hostile, LocksThatAreNeverReleased) {
  Builder builder;
  for (uint64_t lock = 0; lock < 3000; ++lock) builder.add(0, EventKind::kAcquire, lock);
  builder.write(0).read(1);
  MemorySource source(builder.trace());
  auto report = analyze(source, {});
  ASSERT_TRUE(report);
  EXPECT_EQ(report->pairs.size(), 1U);
  EXPECT_GT(counter(*report, "locks_not_in_lockset"), 2900U);
}

TEST(Regions, UnorderedInnerAccessesAreNotCheckedButCounted) {
  Builder builder;
  builder.write(0).add(1, EventKind::kRegionBegin, 0).read(1);
  Trace trace = builder.trace();
  trace.events.back().stamped = false;
  MemorySource source(trace, false);
  Options options;
  options.engine = EngineKind::kRdit;
  auto report = analyze(source, options);
  ASSERT_TRUE(report);
  EXPECT_TRUE(report->pairs.empty());
  EXPECT_EQ(counter(*report, "inner_accesses_unordered"), 1U);
}

TEST(Regions, RangesNormalise) {
  EXPECT_EQ(normalised(Ranges{{8, 9}, {1, 4}, {5, 5}, {4, 6}}), (Ranges{{1, 6}, {8, 9}}));
}

}  // namespace
}  // namespace deadheat::analysis
