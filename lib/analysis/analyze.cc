// Runs an engine over a Source: the passes, and what each of them adds to the report.
//
// First detection. If region ends add reachable ranges, a pass collects them and detection runs
// again (a BarrierPair has one set of addresses, known only at its end). If there were impossible
// events, the source looks up the positions of the first few. If there are races, one more pass,
// which stops once it has its answers: which pairs are schedulable, on total-order traces, and the
// steps around each example.
#include <algorithm>
#include <memory>
#include <optional>
#include <unordered_map>

#include "lib/analysis/detector.h"
#include "lib/analysis/engine.h"
#include "lib/analysis/explain.h"
#include "lib/analysis/incomplete/regions.h"
#include "lib/analysis/orders.h"
#include "lib/base/text.h"

namespace deadheat::analysis {

// Each engine's function is declared by its row.
#define DEADHEAT_DECLARE(kind, name, run, ...) \
  Result<Report> run(trace::Source& source, const Options& options);
DEADHEAT_ENGINES(DEADHEAT_DECLARE)
#undef DEADHEAT_DECLARE

using trace::Batch;
using trace::Event;
using trace::EventKind;
using trace::Source;

namespace {

// How many events ahead to prefetch cache lines; measured on the workloads of bench/.
constexpr size_t kCellsAhead = 16;
constexpr size_t kBucketsAhead = 8;

EdgeSet edges_of(const Options& options) {
  EdgeSet edges;
  if (options.engine != EngineKind::kHybrid) return edges;
  edges.locks = false;
  if (options.edges == Edges::kPaper) edges.rendezvous = edges.atomics = false;
  return edges;
}

bool is_access(EventKind kind) {
  return kind <= EventKind::kReadModifyWrite || kind == EventKind::kAlloc ||
         kind == EventKind::kFree;
}

bool orders_regions(const Options& options) {
  return options.engine == EngineKind::kRdit && options.missing != Missing::kIgnore;
}

std::span<const trace::Range> ranges_of(const Event& event, const Batch& batch) {
  return batch.ranges.subspan(event.other, event.size);
}

// What each region's end adds to its reachable set, by number of the region in order of its begin.
using EndSets = std::unordered_map<uint64_t, Ranges>;

Result<EndSets> collect_end_sets(Source& source) {
  if (auto rewound = source.rewind(); !rewound) return rewound.error();
  EndSets sets;
  std::vector<std::vector<uint64_t>> open;
  uint64_t regions = 0;
  for (;;) {
    auto batch = source.next();
    if (!batch) return batch.error();
    if (batch->events.empty()) return sets;
    for (const Event& event : batch->events) {
      if (event.kind != EventKind::kRegionBegin && event.kind != EventKind::kRegionEnd) continue;
      if (event.thread >= Clocks::kMaxThreads) continue;
      if (open.size() <= event.thread) open.resize(event.thread + 1);
      auto& stack = open[event.thread];
      if (event.kind == EventKind::kRegionBegin) {
        stack.push_back(regions++);
      } else if (!stack.empty()) {
        const auto ranges = ranges_of(event, *batch);
        if (!ranges.empty()) sets[stack.back()] = Ranges(ranges.begin(), ranges.end());
        stack.pop_back();
      }
    }
  }
}

// An impossible event: the trace is broken, or lacks events.
struct Oddity {
  uint64_t number;
  Event event;
  const char* what;
};
constexpr size_t kOddities = 5;  // described; all are counted

std::string describe(const Oddity& oddity, const std::string& place, const Source& source) {
  std::string line = "event " + with_thousands(oddity.number);
  if (!place.empty()) line += ", " + place;
  line += ": " + source.thread_name(oddity.event.thread) + " " + oddity.what;
  const bool names_thread =
      oddity.event.kind == EventKind::kFork || oddity.event.kind == EventKind::kJoin;
  return line + ": " +
         (names_thread ? source.thread_name(oddity.event.other)
                       : source.object_name(oddity.event.address, oddity.event.kind));
}

// One line each, with its place in the trace. Reads the trace again if there are any.
void add_problems(const std::vector<Oddity>& oddities, Source& source,
                  std::vector<std::string>& problems) {
  if (oddities.empty()) return;
  std::vector<uint64_t> numbers;
  for (const Oddity& oddity : oddities) numbers.push_back(oddity.number);
  const std::vector<std::string> places = source.locate(numbers);
  for (size_t i = 0; i < oddities.size(); ++i)
    problems.push_back(describe(oddities[i], places[i], source));
}

bool is_stopped(const Options& options) { return options.stopped && options.stopped(); }
Error was_stopped() { return {"stopped before the end of the trace", ""}; }

// One pass of one detector.
template <Mode kMode>
class Pass {
 public:
  Pass(const Options& options, const EndSets* end_sets)
      : options_(options),
        end_sets_(end_sets),
        clocks_(edges_of(options), options.memory_limit / 2),
        detector_(clocks_, options),
        regions_(clocks_) {}

  Status run(Source& source) {
    if (!source.total_order()) detector_.expect_unplaced_accesses();
    for (;;) {
      auto batch = source.next();
      if (!batch) return batch.error();
      if (batch->events.empty() || needs_end_sets_) return Ok{};
      take(*batch);
      if (options_.progress) options_.progress(number_);
      if (is_stopped(options_)) return was_stopped();
    }
  }

  void take(const Batch& batch) {
    const auto events = batch.events;
    Cell* located[kCellsAhead] = {};  // of the upcoming events, by number modulo the distance
    const auto locate = [&](size_t i) {
      if (i < events.size())
        located[i % kCellsAhead] =
            detector_.is_simple(events[i]) ? detector_.locate(events[i]) : nullptr;
    };
    for (size_t i = 0; i < kCellsAhead; ++i) locate(i);
    for (size_t i = 0; i < events.size(); ++i) {
      const Event& event = events[i];
      Cell* const cell = located[i % kCellsAhead];
      locate(i + kCellsAhead);
      if (const Cell* const next = located[(i + kBucketsAhead) % kCellsAhead];
          next != nullptr && i + kBucketsAhead < events.size())
        detector_.approach(*next, events[i + kBucketsAhead]);
      if (detector_.is_simple(event) && clocks_.knows(event.thread) && !regions_.any_open()) {
        detector_.plain_access(event, cell, ++number_);
      } else {
        take(event, batch);
      }
    }
  }

  void take(const Event& event, const Batch& batch) {
    ++number_;
    if (!clocks_.admit(event.thread)) {
      ++untracked_;
    } else if (event.kind == EventKind::kRegionBegin || event.kind == EventKind::kRegionEnd) {
      region(event, batch);
    } else if (regions_.inside(event.thread)) {
      inner(event);
    } else {
      process(event);
    }
  }

  const std::vector<Oddity>& oddities() const { return oddities_; }
  bool needs_end_sets() const { return needs_end_sets_; }
  PairSet& pairs() { return detector_.pairs(); }
  FlatIndex& unordered_granules() { return detector_.unordered_granules(); }
  uint64_t events() const { return number_; }

  Counters counters() const {
    Counters counters;
    clocks_.add_counters(counters);
    detector_.add_counters(counters);
    if (orders_regions(options_)) {
      regions_.add_counters(counters);
    } else {
      counters.push_back(
          {"regions_ignored", regions_ignored_,
           "calls into uninstrumented code whose synchronisation is not known were ignored: what "
           "follows them may be a false alarm (use --engine rdit)",
           true});
    }
    counters.push_back(
        {"inner_accesses_unordered", inner_unordered_,
         "accesses inside regions whose place in the order was not recorded were not checked",
         true});
    counters.push_back({"events_of_untracked_threads", untracked_,
                        "events of threads past the limit on threads were skipped", true});
    return counters;
  }

 private:
  void process(const Event& event) {
    if (is_access(event.kind)) {
      detector_.access(event, number_);
    } else {
      if (event.kind == EventKind::kFork) regions_.before_fork_of(event.other);
      const uint64_t before = clocks_.oddities();
      clocks_.apply(event);
      if (clocks_.oddities() != before && oddities_.size() < kOddities)
        oddities_.push_back({number_, event, clocks_.last_oddity()});
    }
  }

  void inner(const Event& event) {
    if (event.kind == EventKind::kFunctionEntry || event.kind == EventKind::kFunctionExit) return;
    if (!event.stamped) {
      // Its position relative to the region's hidden synchronisation is unknown: checking it could
      // cause a false alarm.
      ++inner_unordered_;
      return;
    }
    regions_.before_inner(event.thread);
    process(event);
    regions_.after_inner(event.thread);
  }

  void region(const Event& event, const Batch& batch) {
    const auto ranges = ranges_of(event, batch);
    const bool begins = event.kind == EventKind::kRegionBegin;
    if (!orders_regions(options_)) {
      regions_ignored_ += begins ? 1 : 0;
      return;
    }
    if (!begins) {
      needs_end_sets_ = needs_end_sets_ || (end_sets_ == nullptr && !ranges.empty() &&
                                            options_.missing == Missing::kRdit);
      return regions_.end(event.thread);
    }
    Ranges all(ranges.begin(), ranges.end());
    if (end_sets_ != nullptr) {
      if (const auto more = end_sets_->find(region_number_); more != end_sets_->end())
        all.insert(all.end(), more->second.begin(), more->second.end());
    }
    ++region_number_;
    regions_.begin(event.thread, reach(all, event.address, options_));
  }

  const Options& options_;
  const EndSets* end_sets_;
  Clocks clocks_;
  Detector<kMode> detector_;
  Regions regions_;
  uint64_t number_ = 0, region_number_ = 0;
  uint64_t regions_ignored_ = 0, inner_unordered_ = 0, untracked_ = 0;
  std::vector<Oddity> oddities_;
  bool needs_end_sets_ = false;
};

// The pass after detection: schedulability, if requested, and explanations.
class SecondPass {
 public:
  SecondPass(const Options& options, const EndSets* end_sets, const FlatIndex* unordered,
             std::vector<RacyPair>& pairs)
      : options_(options), explainer_(pairs), pairs_(pairs), unordered_(unordered) {
    if (unordered != nullptr) schedulable_.emplace(options, end_sets);
  }

  Status run(Source& source) {
    if (auto rewound = source.rewind(); !rewound) return rewound;
    while (!done()) {
      auto batch = source.next();
      if (!batch) return batch.error();
      if (batch->events.empty()) break;
      take(*batch);
      if (is_stopped(options_)) return was_stopped();
    }
    if (schedulable_) {
      for (RacyPair& pair : pairs_) {
        const bool yes = schedulable_->pairs().contains(pair.first.site, pair.second.site);
        pair.schedulable = yes ? Schedulable::kYes : Schedulable::kNo;
      }
    }
    return Ok{};
  }

 private:
  // Every schedulable pair is a happens-before pair, so equal numbers mean that all have been
  // found.
  bool done() {
    return explainer_.done() &&
           (!schedulable_ || schedulable_->pairs().pairs().size() >= pairs_.size());
  }

  void take(const Batch& batch) {
    for (const Event& event : batch.events) {
      explainer_.take(event);
      if (!schedulable_) continue;
      if (is_access(event.kind) && !Detector<Mode::kSchedulable>::matters(event, *unordered_))
        continue;
      schedulable_->take(event, batch);
    }
  }

  const Options& options_;
  Explainer explainer_;
  std::vector<RacyPair>& pairs_;
  const FlatIndex* unordered_;  // null: no total order, or not requested
  std::optional<Pass<Mode::kSchedulable>> schedulable_;
};

template <Mode kMode>
Result<Report> detect(Source& source, const Options& options) {
  std::optional<EndSets> end_sets;
  auto pass = std::make_unique<Pass<kMode>>(options, nullptr);
  auto ran = pass->run(source);
  if (!ran) return ran.error();
  if (pass->needs_end_sets()) {
    auto collected = collect_end_sets(source);
    if (!collected) return collected.error();
    end_sets = std::move(*collected);
    if (auto rewound = source.rewind(); !rewound) return rewound.error();
    pass = std::make_unique<Pass<kMode>>(options, &*end_sets);
    if (ran = pass->run(source); !ran) return ran.error();
  }
  Report report;
  report.events = pass->events();
  report.counters = pass->counters();
  report.counters.push_back({"threads", source.thread_count(), "threads in the trace", false});
  report.source_counters = source.counters();
  const auto problems = source.problems();
  report.problems.assign(problems.begin(), problems.end());
  const std::vector<Oddity> oddities = pass->oddities();
  report.pairs = std::move(pass->pairs().pairs());
  const FlatIndex unordered = std::move(pass->unordered_granules());
  pass.reset();  // frees its shadow before another pass creates one
  add_problems(oddities, source, report.problems);
  if (report.pairs.empty()) return report;
  const bool schedulable =
      kMode == Mode::kHappensBefore && options.schedulable && source.total_order();
  SecondPass second(options, end_sets ? &*end_sets : nullptr, schedulable ? &unordered : nullptr,
                    report.pairs);
  if (auto explained = second.run(source); !explained) return explained.error();
  return report;
}

}  // namespace

Result<Report> run_happens_before(Source& source, const Options& options) {
  return detect<Mode::kHappensBefore>(source, options);
}

Result<Report> run_hybrid(Source& source, const Options& options) {
  return detect<Mode::kHybrid>(source, options);
}

Result<Report> run_orders(Source& source, const Options& options) {
  Orders orders(options);
  for (;;) {
    auto batch = source.next();
    if (!batch) return batch.error();
    if (batch->events.empty()) break;
    for (const Event& event : batch->events) orders.take(event);
    if (options.progress) options.progress(orders.events());
    if (is_stopped(options)) return was_stopped();
  }
  Report report;
  report.events = orders.events();
  orders.add_counters(report.counters);
  report.counters.push_back({"threads", source.thread_count(), "threads in the trace", false});
  report.source_counters = source.counters();
  const auto problems = source.problems();
  report.problems.assign(problems.begin(), problems.end());
  report.pairs = std::move(orders.pairs());
  if (report.pairs.empty()) return report;
  SecondPass second(options, nullptr, nullptr, report.pairs);
  if (auto explained = second.run(source); !explained) return explained.error();
  return report;
}

std::span<const Engine> engines() {
#define DEADHEAT_ENGINE(kind, name, run, finds, predicts, why, summary) \
  {EngineKind::kind, name, run, model::CandidateKind::finds, predicts, why, summary},
  static constexpr Engine kEngines[] = {DEADHEAT_ENGINES(DEADHEAT_ENGINE)};
#undef DEADHEAT_ENGINE
  return kEngines;
}

const Engine& engine_of(EngineKind kind) { return engines()[static_cast<size_t>(kind)]; }

Result<Report> analyze(Source& source, const Options& options) {
  return engine_of(options.engine).run(source, options);
}

}  // namespace deadheat::analysis
