// Engine: a trace in, racy pairs of sites out. Engines know no symbols, no files and no reports.
//
// analyze() runs an engine over a Source and returns a Result as data: every racy pair of sites
// once, with one example each, and a counter for every cap or loss.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "lib/base/counter.h"
#include "lib/base/result.h"
#include "lib/trace/event.h"

namespace deadheat::analysis {

enum class EngineKind : uint8_t { kHappensBefore, kHybrid, kRdit, kOrders };
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
      4ULL << 30;  // bytes of shadow; past it new locations are not tracked, and counted
  uint64_t max_pairs = 10'000;                    // racy pairs kept; more are counted
  std::function<void(uint64_t events)> progress;  // called every few million events; may be empty
  std::function<bool()> stopped = {};  // asked as often; true ends the analysis with an Error
};

enum class Access : uint8_t {
  kRead,
  kWrite,
  kAtomicRead,
  kAtomicWrite,
  kFree,
  kAcquire,       // orders: of a lock
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
  std::vector<trace::SiteId> calls;  // call sites that led to it, outermost first; may be empty
};

// What happened around the two accesses in their threads: sync events and the accesses, in observed
// order.
struct StepEvent {
  bool second = false;  // which side's thread
  bool racing = false;
  uint64_t number = 0;  // of the event; gaps between numbers of one thread are left-out accesses
  trace::Event event;
};

struct RacyPair {
  Side first, second;  // in observed order
  uint64_t count = 0;  // how many dynamic conflicts were seen
  Schedulable schedulable = Schedulable::kUnknown;
  bool near_region = false;  // rdit: one of the threads passed an uninstrumented region between
  std::vector<StepEvent> steps;
};

struct Report {
  std::vector<RacyPair> pairs;        // by observed order of their first example
  Counters counters;                  // the engine's
  Counters source_counters;           // the source's, after one whole pass
  std::vector<std::string> problems;  // "
  uint64_t events = 0;
};

Result<Report> analyze(trace::Source& source, const Options& options);

}  // namespace deadheat::analysis
