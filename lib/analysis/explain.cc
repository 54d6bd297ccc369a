#include "lib/analysis/explain.h"

#include <algorithm>
#include <deque>
#include <utility>

namespace deadheat::analysis {

using trace::Event;
using trace::EventKind;
using trace::ThreadId;

namespace {

constexpr size_t kStepsBefore = 4;   // synchronisation shown before the first access, per thread
constexpr size_t kStepsBetween = 6;  // and between the two accesses
constexpr size_t kHistory = 12;      // remembered per thread

struct Numbered {
  uint64_t number;
  Event event;
};

struct Watch {
  RacyPair* pair;
  std::vector<Numbered> before;  // the first thread's synchronisation before its access
  Numbered first{0, {}};
};

bool is_access(EventKind kind) {
  return kind <= EventKind::kReadModifyWrite || kind == EventKind::kFree;
}

bool is_first(const Event& event, const RacyPair& pair) {
  const Side& side = pair.first;
  if (event.thread != side.thread || event.site != side.site || !is_access(event.kind))
    return false;
  const bool event_writes = event.kind != EventKind::kRead;
  const bool side_writes = side.access != Access::kRead && side.access != Access::kAtomicRead;
  if (event_writes != side_writes ||
      (event.kind == EventKind::kFree) != (side.access == Access::kFree))
    return false;
  return event.address < pair.second.address + pair.second.size &&
         pair.second.address < event.address + event.size;
}

class Explainer {
 public:
  explicit Explainer(std::vector<RacyPair>& pairs) {
    const size_t count = std::min(pairs.size(), kExplained);
    for (size_t i = 0; i < count; ++i) {
      const Side &first = pairs[i].first, &second = pairs[i].second;
      if (threads_.size() <= std::max(first.thread, second.thread))
        threads_.resize(std::max(first.thread, second.thread) + 1);
      threads_[first.thread].watched = threads_[second.thread].watched = true;
      threads_[first.thread].firsts.push_back(i);
      watches_.push_back({&pairs[i], {}, {}});
      if (first.site != trace::kNoSite && sites_.size() <= first.site)
        sites_.resize(first.site + 1);
      if (first.site != trace::kNoSite) sites_[first.site] = true;
      seconds_.emplace_back(second.event, i);
    }
    std::sort(seconds_.begin(), seconds_.end());
  }

  bool done() const { return next_ == seconds_.size(); }

  // Every event of the trace comes through here: two compares for one that nobody waits for.
  void take(const Event& event) {
    ++number_;
    while (next_ < seconds_.size() && seconds_[next_].first <= number_)
      finish(watches_[seconds_[next_++].second], event);
    if (event.thread < threads_.size() && threads_[event.thread].watched) follow(event);
  }

 private:
  struct Thread {
    bool watched = false;
    std::vector<size_t> firsts;    // watches whose first access is this thread's
    std::deque<Numbered> history;  // its last synchronisation
  };

  void follow(const Event& event) {
    Thread& thread = threads_[event.thread];
    if (!is_access(event.kind)) {
      if (event.kind == EventKind::kFunctionEntry || event.kind == EventKind::kFunctionExit) return;
      thread.history.push_back({number_, event});
      if (thread.history.size() > kHistory) thread.history.pop_front();
      return;
    }
    if (event.site != trace::kNoSite && (event.site >= sites_.size() || !sites_[event.site]))
      return;
    for (const size_t at : thread.firsts) {
      Watch& watch = watches_[at];
      if (watch.pair->second.event <= number_ || !is_first(event, *watch.pair)) continue;
      const size_t kept = std::min(thread.history.size(), kStepsBefore);
      watch.before.assign(thread.history.end() - static_cast<std::ptrdiff_t>(kept),
                          thread.history.end());
      watch.first = {number_, event};
    }
  }

  void finish(Watch& watch, const Event& second) {
    RacyPair& pair = *watch.pair;
    pair.first.event = watch.first.number;
    if (watch.first.number != 0) {
      pair.first.address = watch.first.event.address;
      pair.first.size = watch.first.event.size;
    }
    std::vector<StepEvent> steps;
    for (const Numbered& step : watch.before)
      steps.push_back({false, false, step.number, step.event});
    if (watch.first.number != 0)
      steps.push_back({false, true, watch.first.number, watch.first.event});
    append_tail(steps, pair.first.thread, false, watch.first.number);
    append_tail(steps, pair.second.thread, true, 0);
    steps.push_back({true, true, number_, second});
    std::sort(steps.begin(), steps.end(),
              [](const StepEvent& a, const StepEvent& b) { return a.number < b.number; });
    for (const StepEvent& step : steps)
      if (step.event.kind == EventKind::kRegionBegin || step.event.kind == EventKind::kRegionEnd)
        pair.near_region = true;
    pair.steps = std::move(steps);
  }

  void append_tail(std::vector<StepEvent>& steps, ThreadId thread, bool second, uint64_t after) {
    const auto& history = threads_[thread].history;
    size_t kept = 0;
    for (auto at = history.rbegin();
         at != history.rend() && kept < kStepsBetween && at->number > after; ++at, ++kept)
      steps.push_back({second, false, at->number, at->event});
  }

  std::vector<Watch> watches_;
  std::vector<Thread> threads_;
  std::vector<bool> sites_;  // sites of first accesses
  std::vector<std::pair<uint64_t, size_t>>
      seconds_;  // event number of a second access, watch; sorted
  size_t next_ = 0;
  uint64_t number_ = 0;
};

}  // namespace

Status explain(trace::Source& source, std::vector<RacyPair>& pairs) {
  if (auto rewound = source.rewind(); !rewound) return rewound;
  Explainer explainer(pairs);
  while (!explainer.done()) {
    auto batch = source.next();
    if (!batch) return batch.error();
    if (batch->events.empty()) break;
    for (const Event& event : batch->events) explainer.take(event);
  }
  return Ok{};
}

}  // namespace deadheat::analysis
