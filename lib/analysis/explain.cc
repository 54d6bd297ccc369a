#include "lib/analysis/explain.h"

#include <algorithm>

namespace deadheat::analysis {

using trace::Event;
using trace::EventKind;
using trace::ThreadId;

namespace {

constexpr size_t kStepsBefore = 4;   // synchronisation shown before the first access, per thread
constexpr size_t kStepsBetween = 6;  // and between the two accesses
constexpr size_t kHistory = 12;      // remembered per thread
constexpr size_t kDeepest = 4096;    // calls of a stack; enough even for runaway recursion

bool touches_memory(EventKind kind) {
  return kind <= EventKind::kReadModifyWrite || kind == EventKind::kFree;
}

bool takes_lock(EventKind kind) {
  return kind == EventKind::kAcquire || kind == EventKind::kAcquireShared;
}

bool is_first(const Event& event, const RacyPair& pair) {
  const Side& side = pair.first;
  if (side.access == Access::kAcquire || side.access == Access::kAcquireShared)
    return event.thread == side.thread && event.site == side.site && takes_lock(event.kind) &&
           event.address == pair.second.address;
  if (event.thread != side.thread || event.site != side.site || !touches_memory(event.kind))
    return false;
  const bool event_writes = event.kind != EventKind::kRead;
  const bool side_writes = side.access != Access::kRead && side.access != Access::kAtomicRead;
  if (event_writes != side_writes) return false;
  if ((event.kind == EventKind::kFree) != (side.access == Access::kFree)) return false;
  return event.address < pair.second.address + pair.second.size &&
         pair.second.address < event.address + event.size;
}

}  // namespace

Explainer::Explainer(std::vector<RacyPair>& pairs) {
  const size_t count = std::min(pairs.size(), kExplained);
  for (size_t i = 0; i < count; ++i) {
    const Side &first = pairs[i].first, &second = pairs[i].second;
    if (threads_.size() <= std::max(first.thread, second.thread))
      threads_.resize(std::max(first.thread, second.thread) + 1);
    threads_[first.thread].watched = threads_[second.thread].watched = true;
    threads_[first.thread].firsts.push_back(i);
    if (first.site != trace::kNoSite) {
      if (sites_.size() <= first.site) sites_.resize(first.site + 1);
      sites_[first.site] = true;
    }
    watches_.push_back({&pairs[i], {}, {}, {}});
    seconds_.emplace_back(second.event, i);
  }
  std::sort(seconds_.begin(), seconds_.end());
}

void Explainer::follow(const Event& event) {
  Thread& thread = threads_[event.thread];
  if (takes_lock(event.kind)) look_for_firsts(thread, event);
  if (!touches_memory(event.kind)) {
    if (event.kind == EventKind::kFunctionEntry || event.kind == EventKind::kFunctionExit) {
      follow_call(thread, event);
      return;
    }
    thread.history.push_back({number_, event});
    if (thread.history.size() > kHistory) thread.history.pop_front();
    return;
  }
  look_for_firsts(thread, event);
}

void Explainer::look_for_firsts(const Thread& thread, const Event& event) {
  if (event.site != trace::kNoSite && (event.site >= sites_.size() || !sites_[event.site])) return;
  for (const size_t at : thread.firsts) {
    Watch& watch = watches_[at];
    if (watch.pair->second.event <= number_ || !is_first(event, *watch.pair)) continue;
    const auto kept = static_cast<std::ptrdiff_t>(std::min(thread.history.size(), kStepsBefore));
    watch.before.assign(thread.history.end() - kept, thread.history.end());
    watch.first = {number_, event};
    watch.calls = thread.calls;
  }
}

void Explainer::follow_call(Thread& thread, const Event& event) {
  if (event.kind == EventKind::kFunctionEntry) {
    if (thread.calls.size() < kDeepest) {
      thread.calls.push_back(event.site);
    } else {
      ++thread.deeper;
    }
  } else if (thread.deeper > 0) {
    --thread.deeper;
  } else if (!thread.calls.empty()) {
    thread.calls.pop_back();
  }
}

void Explainer::finish(Watch& watch, const Event& second) {
  RacyPair& pair = *watch.pair;
  pair.first.event = watch.first.number;
  pair.first.calls = std::move(watch.calls);
  pair.second.calls = threads_[pair.second.thread].calls;
  std::vector<StepEvent> steps;
  for (const Numbered& step : watch.before)
    steps.push_back({false, false, step.number, step.event});
  if (watch.first.number != 0) {
    pair.first.address = watch.first.event.address;
    pair.first.size = watch.first.event.size;
    steps.push_back({false, true, watch.first.number, watch.first.event});
  }
  append_tail(steps, pair.first.thread, false, watch.first.number);
  append_tail(steps, pair.second.thread, true, 0);
  steps.push_back({true, true, number_, second});
  std::sort(steps.begin(), steps.end(),
            [](const StepEvent& a, const StepEvent& b) { return a.number < b.number; });
  for (const StepEvent& step : steps) {
    const EventKind kind = step.event.kind;
    if (kind == EventKind::kRegionBegin || kind == EventKind::kRegionEnd) pair.near_region = true;
  }
  pair.steps = std::move(steps);
}

void Explainer::append_tail(std::vector<StepEvent>& steps, ThreadId thread, bool second,
                            uint64_t after) {
  const auto& history = threads_[thread].history;
  size_t kept = 0;
  for (auto at = history.rbegin();
       at != history.rend() && kept < kStepsBetween && at->number > after; ++at, ++kept)
    steps.push_back({second, false, at->number, at->event});
}

}  // namespace deadheat::analysis
