// Regions: the edges that uninstrumented code may have made (rdit.txt, Algorithm 1), online.
//
// The paper compares all pairs of regions (BarrierPairs): if two regions of different threads can
// reach a common address, every recorded event of one is ordered before every later one of the
// other (line 25: begin, end, and events recorded between them by callbacks). Here each address
// that a region can reach carries a clock; a region event acquires, then publishes, the clock of
// everything that the thread's open regions reach. Afterwards all those addresses have the same
// clock, so they share it, and neighbours merge into one interval: the cost depends on the number
// of intervals, not of pairs of regions. The pairwise loop is the naive twin in the tests.
//
// An event inside an open region may be followed by hidden synchronisation before the region's end.
// It is published when another thread next acquires (flush_others), with its thread's knowledge at
// that time, so that quiet threads cost nothing.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <vector>

#include "lib/analysis/clocks.h"
#include "lib/analysis/engine.h"

namespace deadheat::analysis {

using Ranges = std::vector<trace::Range>;
// Sorted, disjoint, not adjacent, none empty.
Ranges normalised(std::span<const trace::Range> ranges);
// What a region with these ranges reaches under the options: the ranges, the module's globals, or
// everything.
Ranges reach(std::span<const trace::Range> ranges, uint64_t module, const Options& options);

class Regions {
 public:
  explicit Regions(Clocks& clocks) : clocks_(clocks) {}

  void begin(trace::ThreadId thread, Ranges reach);
  void end(trace::ThreadId thread);
  bool any_open() const { return open_ > 0; }
  bool inside(trace::ThreadId thread) const {
    return thread < threads_.size() && !threads_[thread].open.empty();
  }
  // Around every other recorded event of a thread inside a region.
  void before_inner(trace::ThreadId thread);
  void after_inner(trace::ThreadId thread);
  // Before another thread's event adds to this thread's knowledge (a broken trace that starts a
  // running thread).
  void before_fork_of(trace::ThreadId thread);

  void add_counters(Counters& counters) const;

 private:
  using SharedClock = std::shared_ptr<const order::VectorClock>;
  struct Interval {
    uint64_t end;
    SharedClock clock;
  };
  struct Thread {
    std::vector<Ranges> open;  // a stack
    Ranges reach;              // the union of open
    bool unpublished = false;  // has inner events since it last published
    uint64_t seen = 0;         // generation at its last acquire
  };

  Thread& state(trace::ThreadId thread);
  void flush_others(trace::ThreadId thread);
  void acquire(trace::ThreadId thread);
  void publish_all(trace::ThreadId thread);
  void sync(trace::ThreadId thread);
  void split(uint64_t at);
  template <typename F>
  void for_each_overlap(const trace::Range& range, F f);

  Clocks& clocks_;
  std::vector<Thread> threads_;
  std::vector<trace::ThreadId> unpublished_;
  std::map<uint64_t, Interval> intervals_;  // by begin; disjoint
  uint64_t generation_ = 1;                 // counts publications
  uint64_t open_ = 0;                       // regions, of all threads
  uint64_t regions_ = 0, unmatched_ends_ = 0;
};

}  // namespace deadheat::analysis
