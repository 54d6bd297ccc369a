// Collects the steps around each racy pair's example: what both threads synchronised on before and
// between the accesses. The engines' fast pass keeps no such history; a second pass over the trace
// collects it, and the stacks if the trace has calls.
#pragma once

#include <deque>
#include <utility>
#include <vector>

#include "lib/analysis/engine.h"

namespace deadheat::analysis {

// Sees every event of the trace again, up to the last example. Fills `steps`, near_region, both
// sides' calls, and the first side's event number, address and size. Pairs beyond kExplained have
// empty steps: a report of hundreds of races needs no more pictures.
class Explainer {
 public:
  static constexpr size_t kExplained = 500;

  explicit Explainer(std::vector<RacyPair>& pairs);
  bool done() const { return next_ == seconds_.size(); }

  // Two compares for an irrelevant event.
  void take(const trace::Event& event) {
    ++number_;
    while (next_ < seconds_.size() && seconds_[next_].first <= number_)
      finish(watches_[seconds_[next_++].second], event);
    if (event.thread < threads_.size() && threads_[event.thread].watched) follow(event);
  }

 private:
  struct Numbered {
    uint64_t number;
    trace::Event event;
  };
  struct Watch {
    RacyPair* pair;
    std::vector<Numbered> before;  // the first thread's synchronisation before its access
    Numbered first{0, {}};
    std::vector<trace::SiteId> calls;  // of the first access
  };
  struct Thread {
    bool watched = false;
    std::vector<size_t> firsts;        // watches whose first access is this thread's
    std::deque<Numbered> history;      // its last synchronisation
    std::vector<trace::SiteId> calls;  // its stack: call sites, outermost first
    uint64_t deeper = 0;               // calls beyond kDeepest, which are not kept
  };

  void follow(const trace::Event& event);
  void look_for_firsts(const Thread& thread, const trace::Event& event);
  static void follow_call(Thread& thread, const trace::Event& event);
  void finish(Watch& watch, const trace::Event& second);
  void append_tail(std::vector<StepEvent>& steps, trace::ThreadId thread, bool second,
                   uint64_t after);

  std::vector<Watch> watches_;
  std::vector<Thread> threads_;
  std::vector<bool> sites_;  // sites of first accesses
  std::vector<std::pair<uint64_t, size_t>>
      seconds_;  // event number of a second access, watch; sorted
  size_t next_ = 0;
  uint64_t number_ = 0;
};

}  // namespace deadheat::analysis
