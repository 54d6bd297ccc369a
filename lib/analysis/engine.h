// Engine: a trace in, racy pairs of sites out. Engines know no symbols, no files and no reports.
//
// analyze() runs an engine over a Source and returns a Result as data: every racy pair of sites
// once, with one example each, and a counter for every cap or loss.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lib/base/counter.h"
#include "lib/base/result.h"
#include "lib/model/candidate.h"
#include "lib/trace/event.h"

namespace deadheat::analysis {

// The engines, one row each: enumerator, name, function, kind of candidates, whether they are
// predictions (not proved by this execution), why a pair is a candidate, and a short
// description.
#define DEADHEAT_ENGINES(X)                                                                 \
  X(kHappensBefore, "hb", run_happens_before, kDataRace, false,                             \
    "no happens-before path leads from the first access to the second",                     \
    "happens-before races of this execution")                                               \
  X(kHybrid, "hybrid", run_hybrid, kDataRace, true,                                         \
    "no lock in common and nothing that orders the two in every schedule",                  \
    "candidates that another schedule may show (disjoint locksets)")                        \
  X(kRdit, "rdit", run_happens_before, kDataRace, false,                                    \
    "no happens-before path leads from the first access to the second",                     \
    "happens-before that knows of uninstrumented regions")                                  \
  X(kOrders, "orders", run_orders, kOrder, true,                                            \
    "nothing but this very object says which of the two comes first",                       \
    "lock acquisitions and atomic accesses whose order may be another one, to confirm for " \
    "failures")

#define DEADHEAT_ENUMERATOR(kind, ...) kind,
enum class EngineKind : uint8_t { DEADHEAT_ENGINES(DEADHEAT_ENUMERATOR) };
#undef DEADHEAT_ENUMERATOR
enum class Edges : uint8_t { kFull, kPaper };  // hybrid: racefuzzer.txt's edges only
enum class Missing : uint8_t {
  kRdit,
  kIgnore,
  kNaive
};  // rdit: what a region may have synchronised
enum class Globals : uint8_t { kNone, kModule, kAll };  // rdit: regions that may reach globals
enum class Schedulable : uint8_t { kUnknown, kYes, kNo };

struct Options {
  EngineKind engine = EngineKind::kHappensBefore;
  Edges edges = Edges::kFull;
  Missing missing = Missing::kRdit;
  Globals globals = Globals::kNone;
  bool schedulable = true;  // SHB on total-order traces, if there are races
  uint64_t memory_limit =
      4ULL << 30;  // bytes of shadow; beyond it new locations are not tracked, which is counted
  uint64_t max_pairs = 10'000;                    // racy pairs kept; further ones are counted
  std::function<void(uint64_t events)> progress;  // called every few million events; may be empty
  std::function<bool()> stopped = {};  // called as often; true ends the analysis with an Error
};

enum class Access : uint8_t {
  kRead,
  kWrite,
  kAtomicRead,
  kAtomicWrite,
  kFree,
  kAcquire,       // orders: acquires a lock
  kAcquireShared  // "
};

// One side of a racy pair: an example access.
struct Side {
  trace::SiteId site = trace::kNoSite;
  Access access = Access::kRead;
  trace::ThreadId thread = 0;
  uint64_t address = 0;
  uint64_t size = 0;
  std::vector<uint64_t> locks;       // held; sorted
  uint64_t event = 0;                // number of the event from 1; 0: unknown
  std::vector<trace::SiteId> calls;  // outermost first; may be empty
};

// The events around the two accesses in their threads: synchronisation and the accesses, in
// observed order.
struct StepEvent {
  bool second = false;  // which side's thread
  bool racing = false;
  uint64_t number = 0;  // of the event; gaps within one thread are omitted accesses
  trace::Event event;
};

struct RacyPair {
  Side first, second;  // in observed order
  uint64_t count = 0;  // dynamic conflicts seen
  Schedulable schedulable = Schedulable::kUnknown;
  bool near_region = false;  // rdit: one of the threads passed an uninstrumented region in between
  std::vector<StepEvent> steps;
};

struct Report {
  std::vector<RacyPair> pairs;        // by observed order of their first example
  Counters counters;                  // the engine's
  Counters source_counters;           // the source's, after one whole pass
  std::vector<std::string> problems;  // "
  uint64_t events = 0;
};

struct Engine {
  EngineKind kind;
  std::string_view name;
  Result<Report> (*run)(trace::Source& source, const Options& options);
  model::CandidateKind finds;
  bool predicts;
  std::string_view why, summary;
};
std::span<const Engine> engines();
const Engine& engine_of(EngineKind kind);

Result<Report> analyze(trace::Source& source, const Options& options);

}  // namespace deadheat::analysis
