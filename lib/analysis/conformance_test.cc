// Compares every engine with its naive twin on thousands of random traces. A failure prints the
// seed and the trace. A sanitizer's build runs an eighth of them: it looks for errors of memory,
// which each trace exercises, and all seeds are compared in the ordinary build.
#include <gtest/gtest.h>

#include <sstream>

#include "lib/analysis/engine.h"
#include "lib/analysis/naive_twin.h"
#include "lib/analysis/random_trace.h"
#include "lib/base/random.h"

namespace deadheat::analysis {
namespace {

#ifdef DEADHEAT_SANITIZED
constexpr uint64_t kOneSeedIn = 8;
#else
constexpr uint64_t kOneSeedIn = 1;
#endif

std::string show(const SitePairs& pairs) {
  std::ostringstream out;
  for (const auto& [a, b] : pairs) out << " (" << a << "," << b << ")";
  return out.str();
}

std::string show(const Trace& trace) {
  std::ostringstream out;
  for (size_t i = 0; i < trace.events.size(); ++i) {
    const trace::Event& e = trace.events[i];
    out << i + 1 << ": T" << e.thread << " kind " << int(e.kind) << " order " << int(e.order)
        << " address " << std::hex << e.address << std::dec << " size " << e.size << " other "
        << e.other << " site " << e.site << "\n";
  }
  return out.str();
}

RandomTraceOptions shape(Random& random, bool regions) {
  RandomTraceOptions o;
  o.events = random.between(10, 120);
  o.threads = static_cast<uint32_t>(random.between(2, 6));
  o.locks = static_cast<uint32_t>(random.between(1, 4));
  o.variables = static_cast<uint32_t>(random.between(1, 6));
  o.sites = static_cast<uint32_t>(random.between(2, 40));
  o.atomics = random.chance(0.6);
  o.rendezvous = random.chance(0.6);
  o.memory = random.chance(0.4);
  o.odd_sizes = random.chance(0.6);
  o.broken = random.chance(0.3) ? 0.1 : 0.0;
  o.disciplined = random.chance(0.5) ? 1.0 : random.chance(0.5) ? 0.9 : 0.0;
  if (o.disciplined == 1.0) o.memory = o.odd_sizes = o.atomics = false;
  o.regions = regions;
  return o;
}

struct Totals {
  size_t traces = 0, racy = 0, pairs = 0, artefacts = 0;
};

void conform(const Options& options, bool regions, uint64_t first_seed, uint64_t all_seeds) {
  const uint64_t seeds = all_seeds / kOneSeedIn;
  Totals totals;
  for (uint64_t seed = first_seed; seed < first_seed + seeds; ++seed) {
    Random random(seed);
    const RandomTraceOptions o = shape(random, regions);
    const Trace trace = random_trace(seed * 31 + 7, o);
    MemorySource source(trace);
    auto report = analyze(source, options);
    ASSERT_TRUE(report) << "seed " << seed;
    const TwinResult twin = naive_twin(trace, options);
    ASSERT_EQ(pairs_of(*report), twin.racy)
        << "seed " << seed << "\nengine" << show(pairs_of(*report)) << "\ntwin  " << show(twin.racy)
        << "\n"
        << show(trace);
    if (options.engine != EngineKind::kHybrid) {
      ASSERT_EQ(schedulable_of(*report), twin.schedulable) << "seed " << seed << " (schedulable)\n"
                                                           << show(trace);
    }
    ++totals.traces;
    totals.racy += twin.racy.empty() ? 0 : 1;
    totals.pairs += twin.racy.size();
    totals.artefacts += twin.racy.size() - twin.schedulable.size();
  }
  std::printf(
      "seeds %llu to %llu: %zu traces, %zu of them racy, %zu racy pairs, %zu of them not "
      "schedulable\n",
      static_cast<unsigned long long>(first_seed),
      static_cast<unsigned long long>(first_seed + seeds - 1), totals.traces, totals.racy,
      totals.pairs, totals.artefacts);
  // The generator must produce both answers, or equality proves nothing.
  EXPECT_GT(totals.racy, totals.traces / 10);
  EXPECT_LT(totals.racy, totals.traces * 9 / 10);
  EXPECT_GT(totals.pairs, 0U);
}

TEST(Conformance, HappensBefore) { conform(Options{}, false, 1, 4000); }

TEST(Conformance, HappensBeforeIgnoresRegions) { conform(Options{}, true, 50000, 500); }

TEST(Conformance, Hybrid) {
  Options options;
  options.engine = EngineKind::kHybrid;
  conform(options, false, 10000, 3000);
}

TEST(Conformance, HybridWithThePapersEdges) {
  Options options;
  options.engine = EngineKind::kHybrid;
  options.edges = Edges::kPaper;
  conform(options, false, 20000, 3000);
}

TEST(Conformance, Rdit) {
  Options options;
  options.engine = EngineKind::kRdit;
  conform(options, true, 30000, 4000);
}

TEST(Conformance, RditNaiveAndIgnore) {
  Options options;
  options.engine = EngineKind::kRdit;
  options.missing = Missing::kNaive;
  conform(options, true, 40000, 1000);
  options.missing = Missing::kIgnore;
  conform(options, true, 41000, 1000);
}

TEST(Conformance, RditGlobals) {
  Options options;
  options.engine = EngineKind::kRdit;
  options.globals = Globals::kModule;
  conform(options, true, 42000, 1000);
  options.globals = Globals::kAll;
  conform(options, true, 43000, 500);
}

// Few enough operations that no post is more than eight back: beyond that the engines know less.
TEST(Conformance, Semaphores) {
  for (const EngineKind engine : {EngineKind::kHappensBefore, EngineKind::kHybrid}) {
    size_t racy = 0, less = 0;
    for (uint64_t seed = 1; seed <= 2000 / kOneSeedIn; ++seed) {
      RandomTraceOptions o;
      o.events = 40;
      o.threads = 3;
      o.variables = 2;
      o.sites = 30;
      o.semaphores = 0.35;
      o.rendezvous = o.memory = false;
      const Trace trace = random_trace(seed, o);
      MemorySource source(trace);
      Options options;
      options.engine = engine;
      auto report = analyze(source, options);
      ASSERT_TRUE(report);
      const TwinResult twin = naive_twin(trace, options);
      ASSERT_EQ(pairs_of(*report), twin.racy)
          << "seed " << seed << "\nengine" << show(pairs_of(*report)) << "\ntwin  "
          << show(twin.racy) << "\n"
          << show(trace);
      racy += twin.racy.size();
      // The same without what the tokens say: every earlier post orders.
      Trace uncounted = trace;
      for (trace::Event& event : uncounted.events)
        if (event.kind == trace::EventKind::kSemaphoreInit) event.other = trace::kUnknownTokens;
      less += naive_twin(uncounted, options).racy.size();
    }
    EXPECT_LT(less + 500 / kOneSeedIn, racy);  // the tokens matter in these traces
  }
}

// Long histories per location: overflow blocks and their hash tables.
TEST(Conformance, ManyThreadsAndSitesOnOneLocation) {
  for (const EngineKind engine : {EngineKind::kHappensBefore, EngineKind::kHybrid}) {
    for (uint64_t seed = 1; seed <= 20 / kOneSeedIn; ++seed) {
      RandomTraceOptions o;
      o.events = 900;
      o.threads = 24;
      o.locks = 6;
      o.variables = 1;
      o.sites = 60;
      o.odd_sizes = seed % 2 == 0;
      const Trace trace = random_trace(seed, o);
      MemorySource source(trace);
      Options options;
      options.engine = engine;
      auto report = analyze(source, options);
      ASSERT_TRUE(report);
      const TwinResult twin = naive_twin(trace, options);
      ASSERT_EQ(pairs_of(*report), twin.racy) << "seed " << seed;
    }
  }
}

}  // namespace
}  // namespace deadheat::analysis
