// The engine `orders` on small traces: which visits form a pair, and what orders two visits.
#include <gtest/gtest.h>

#include <set>

#include "lib/analysis/findings.h"
#include "lib/analysis/memory_source.h"

namespace deadheat::analysis {
namespace {

using trace::Event;
using trace::EventKind;
using trace::MemoryOrder;
using Pairs = std::set<std::pair<trace::SiteId, trace::SiteId>>;

constexpr uint64_t kMutex = 0x1000, kOther = 0x2000, kWord = 0x3000;

Event event(uint32_t thread, EventKind kind, uint64_t address, trace::SiteId site,
            MemoryOrder order = MemoryOrder::kPlain) {
  Event made;
  made.thread = thread;
  made.kind = kind;
  made.address = address;
  made.size = kind <= EventKind::kReadModifyWrite || kind == EventKind::kAlloc ? 8 : 0;
  made.site = site;
  made.order = order;
  return made;
}
Event lock(uint32_t thread, trace::SiteId site, uint64_t address = kMutex) {
  return event(thread, EventKind::kAcquire, address, site);
}
Event unlock(uint32_t thread, uint64_t address = kMutex) {
  return event(thread, EventKind::kRelease, address, 99);
}
Event thread_event(uint32_t thread, EventKind kind, uint32_t other) {
  Event made = event(thread, kind, 0, 98);
  made.other = other;
  return made;
}

Report orders(std::vector<Event> events) {
  Trace trace;
  trace.events = std::move(events);
  MemorySource source(trace);
  Options options;
  options.engine = EngineKind::kOrders;
  auto report = analyze(source, options);
  EXPECT_TRUE(report);
  return std::move(*report);
}
Pairs pairs(std::vector<Event> events) {
  Pairs found;
  for (const RacyPair& pair : orders(std::move(events)).pairs)
    found.emplace(pair.first.site, pair.second.site);
  return found;
}

TEST(Orders, AcquisitionsOfOneLockByTwoThreads) {
  EXPECT_EQ(pairs({lock(0, 1), unlock(0), lock(0, 2), unlock(0), lock(1, 3), unlock(1)}),
            (Pairs{{1, 3}, {2, 3}}));
  EXPECT_EQ(pairs({lock(0, 1), unlock(0), lock(1, 1), unlock(1)}), (Pairs{{1, 1}}));
}

TEST(Orders, OtherLocksAndOneThreadAreNone) {
  EXPECT_EQ(pairs({lock(0, 1), unlock(0), lock(1, 2, kOther), unlock(1, kOther)}), Pairs{});
  EXPECT_EQ(pairs({lock(0, 1), unlock(0), lock(0, 2), unlock(0)}), Pairs{});
}

TEST(Orders, StartAndJoinAreAnOrder) {
  EXPECT_EQ(pairs({lock(0, 1), unlock(0), thread_event(0, EventKind::kFork, 1), lock(1, 2),
                   unlock(1), thread_event(0, EventKind::kJoin, 1), lock(0, 3), unlock(0)}),
            Pairs{});
}

TEST(Orders, TheLastVisitCounts) {
  // Site 1 comes before the start and again after it.
  EXPECT_EQ(pairs({lock(0, 1), unlock(0), thread_event(0, EventKind::kFork, 1), lock(0, 1),
                   unlock(0), lock(1, 2), unlock(1)}),
            (Pairs{{1, 2}}));
}

TEST(Orders, ANotificationIsNoOrder) {
  EXPECT_EQ(pairs({lock(0, 1), event(0, EventKind::kNotify, kOther, 9), unlock(0),
                   event(1, EventKind::kWait, kOther, 9), lock(1, 2), unlock(1)}),
            (Pairs{{1, 2}}));
}

TEST(Orders, ReadersOfARwlockAmongThemselvesAreNone) {
  EXPECT_EQ(pairs({event(0, EventKind::kAcquireShared, kMutex, 1),
                   event(0, EventKind::kReleaseShared, kMutex, 9),
                   event(1, EventKind::kAcquireShared, kMutex, 2),
                   event(1, EventKind::kReleaseShared, kMutex, 9), lock(2, 3), unlock(2)}),
            (Pairs{{1, 3}, {2, 3}}));
}

TEST(Orders, AtomicAccessesOfWhichOneWrites) {
  const auto load = [](uint32_t thread, trace::SiteId site) {
    return event(thread, EventKind::kRead, kWord, site, MemoryOrder::kAcquire);
  };
  const auto store = [](uint32_t thread, trace::SiteId site) {
    return event(thread, EventKind::kWrite, kWord, site, MemoryOrder::kRelease);
  };
  EXPECT_EQ(pairs({load(0, 1), load(1, 2), store(1, 3)}), (Pairs{{1, 3}}));
  EXPECT_EQ(pairs({store(0, 1), load(1, 2)}), (Pairs{{1, 2}}));  // although it orders
  EXPECT_EQ(pairs({event(0, EventKind::kWrite, kWord, 1), load(1, 2)}), Pairs{});  // plain
}

TEST(Orders, ANewBlockHasNoHistoryAndItsMarkIsNoAccess) {
  const Event mark = event(1, EventKind::kWrite, kWord, 5, MemoryOrder::kRelaxed);
  const Event block = event(1, EventKind::kAlloc, kWord, 5);
  const Event store = event(0, EventKind::kWrite, kWord, 1, MemoryOrder::kRelaxed);
  const Event load = event(2, EventKind::kRead, kWord, 2, MemoryOrder::kRelaxed);
  EXPECT_EQ(pairs({store, block, mark, load}), Pairs{});
  EXPECT_EQ(pairs({block, mark, store, load}), (Pairs{{1, 2}}));
}

TEST(Orders, AreCandidatesAndNoDataRaces) {
  Trace trace;
  trace.events = {lock(0, 1), unlock(0), lock(1, 2), unlock(1)};
  MemorySource source(trace);
  Options options;
  options.engine = EngineKind::kOrders;
  auto report = analyze(source, options);
  ASSERT_TRUE(report);
  const auto file = to_findings(*report, options, source, {"t", "trace:1", "", {}});
  ASSERT_EQ(file.findings.size(), 1U);
  const model::Finding& finding = file.findings[0];
  EXPECT_EQ(finding.candidate.kind, model::CandidateKind::kOrder);
  EXPECT_EQ(finding.candidate.roles[0].access, model::AccessKind::kAcquire);
  EXPECT_TRUE(finding.evidence.empty());
  EXPECT_EQ(finding.suspicions[0].finder, "orders");
  ASSERT_FALSE(report->pairs[0].steps.empty());
  EXPECT_EQ(report->pairs[0].first.event, 1U);
  EXPECT_EQ(report->pairs[0].second.event, 3U);
}

}  // namespace
}  // namespace deadheat::analysis
