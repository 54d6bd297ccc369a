#include "lib/analysis/explain.h"

#include <algorithm>
#include <deque>
#include <unordered_map>

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
      by_thread_[pairs[i].first.thread].push_back(watches_.size());
      by_second_[pairs[i].second.event].push_back(watches_.size());
      watched_[pairs[i].first.thread] = watched_[pairs[i].second.thread] = true;
      last_ = std::max(last_, pairs[i].second.event);
      watches_.push_back({&pairs[i], {}, {}});
    }
  }

  bool done() const { return number_ >= last_; }

  void take(const Event& event) {
    ++number_;
    if (const auto ends = by_second_.find(number_); ends != by_second_.end())
      for (const size_t watch : ends->second) finish(watches_[watch], event);
    const auto watched = watched_.find(event.thread);
    if (watched == watched_.end()) return;
    if (!is_access(event.kind)) {
      if (event.kind == EventKind::kFunctionEntry || event.kind == EventKind::kFunctionExit) return;
      auto& history = history_[event.thread];
      history.push_back({number_, event});
      if (history.size() > kHistory) history.pop_front();
      return;
    }
    const auto firsts = by_thread_.find(event.thread);
    if (firsts == by_thread_.end()) return;
    for (const size_t at : firsts->second) {
      Watch& watch = watches_[at];
      if (watch.pair->second.event <= number_ || !is_first(event, *watch.pair)) continue;
      const auto& history = history_[event.thread];
      const size_t kept = std::min(history.size(), kStepsBefore);
      watch.before.assign(history.end() - static_cast<std::ptrdiff_t>(kept), history.end());
      watch.first = {number_, event};
    }
  }

 private:
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
    const auto& history = history_[thread];
    size_t kept = 0;
    for (auto at = history.rbegin();
         at != history.rend() && kept < kStepsBetween && at->number > after; ++at, ++kept)
      steps.push_back({second, false, at->number, at->event});
  }

  std::vector<Watch> watches_;
  std::unordered_map<ThreadId, std::vector<size_t>> by_thread_;
  std::unordered_map<uint64_t, std::vector<size_t>> by_second_;
  std::unordered_map<ThreadId, bool> watched_;
  std::unordered_map<ThreadId, std::deque<Numbered>> history_;
  uint64_t number_ = 0, last_ = 0;
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
