// Orders: pairs of sites that acquire the same lock, or access the same word atomically (at least
// one writing), in threads that nothing but this lock or word orders. These are not data races, and
// most are harmless; but without plain accesses, these are the places where another schedule can
// make a difference (racefuzzer.txt, end of section 1: the directed set may be any statements whose
// order matters).
//
// Only start and join, barriers, semaphores and once order. Locks, atomics and notifications order
// nothing here: the point is that their outcome may differ.
#pragma once

#include <map>

#include "lib/analysis/clocks.h"
#include "lib/analysis/pairs.h"

namespace deadheat::analysis {

class Orders {
 public:
  // Distinct (site, thread) pairs remembered per object; further ones are counted.
  static constexpr size_t kMostEntries = 256;

  explicit Orders(const Options& options)
      : clocks_({.locks = false, .notify = false, .rendezvous = true, .atomics = false},
                options.memory_limit / 2),
        pairs_(options.max_pairs) {}

  void take(const trace::Event& event);
  std::vector<RacyPair>& pairs() { return pairs_.pairs(); }
  uint64_t events() const { return number_; }
  void add_counters(Counters& counters) const;

 private:
  struct Entry {
    trace::SiteId site;
    trace::ThreadId thread;
    Access access;
    order::Tick tick;  // of its last visit
    uint64_t number;
    uint64_t size;
  };
  // Locks and words may share an address (a lock made of a word).
  using Object = std::pair<bool, uint64_t>;

  void visit(const trace::Event& event, Access access, bool is_lock);

  Clocks clocks_;
  PairSet pairs_;
  std::map<Object, std::vector<Entry>> objects_;
  std::map<trace::ThreadId, trace::Event> allocated_;  // each thread's last allocation
  uint64_t number_ = 0, dropped_ = 0, untracked_ = 0;
};

}  // namespace deadheat::analysis
