#include "lib/analysis/incomplete/regions.h"

#include <algorithm>

namespace deadheat::analysis {

using order::VectorClock;
using trace::Range;
using trace::ThreadId;

Ranges normalised(std::span<const Range> ranges) {
  Ranges sorted;
  for (const Range& range : ranges)
    if (range.begin < range.end) sorted.push_back(range);
  std::sort(sorted.begin(), sorted.end(),
            [](const Range& a, const Range& b) { return a.begin < b.begin; });
  Ranges merged;
  for (const Range& range : sorted) {
    if (!merged.empty() && range.begin <= merged.back().end) {
      merged.back().end = std::max(merged.back().end, range.end);
    } else {
      merged.push_back(range);
    }
  }
  return merged;
}

Ranges reach(std::span<const Range> ranges, uint64_t module, const Options& options) {
  // Objects that represent globals are above every user address.
  constexpr uint64_t kGlobals = 0xfff0'0000'0000'0000ULL;
  if (options.missing == Missing::kNaive || options.globals == Globals::kAll) return {{0, ~0ULL}};
  Ranges all(ranges.begin(), ranges.end());
  if (options.globals == Globals::kModule) {
    const uint64_t object = kGlobals + (module & 0xffff'ffffULL) * 2;
    all.push_back({object, object + 1});
  }
  return normalised(all);
}

Regions::Thread& Regions::state(ThreadId thread) {
  if (threads_.size() <= thread) threads_.resize(thread + 1);
  return threads_[thread];
}

void Regions::split(uint64_t at) {
  auto next = intervals_.upper_bound(at);
  if (next == intervals_.begin()) return;
  auto& [begin, interval] = *std::prev(next);
  if (begin == at || interval.end <= at) return;
  intervals_.emplace_hint(next, at, Interval{interval.end, interval.clock});
  interval.end = at;
}

template <typename F>
void Regions::for_each_overlap(const Range& range, F f) {
  auto at = intervals_.upper_bound(range.begin);
  if (at != intervals_.begin() && std::prev(at)->second.end > range.begin) --at;
  for (; at != intervals_.end() && at->first < range.end; ++at) f(at->second);
}

void Regions::acquire(ThreadId thread) {
  Thread& self = state(thread);
  if (self.seen == generation_) return;
  self.seen = generation_;
  const VectorClock* last = nullptr;  // neighbours usually share their clock
  for (const Range& range : self.reach) {
    for_each_overlap(range, [&](const Interval& interval) {
      if (interval.clock.get() == last) return;
      last = interval.clock.get();
      clocks_.join(thread, *last);
    });
  }
}

// Adds the thread's knowledge to everything that it reaches, without learning from it.
void Regions::publish_all(ThreadId thread) {
  Thread& self = state(thread);
  const auto mine = std::make_shared<VectorClock>();
  mine->assign(clocks_.clock(thread));
  std::map<const VectorClock*, SharedClock> joined;
  for (const Range& range : self.reach) {
    split(range.begin);
    split(range.end);
    uint64_t at = range.begin;
    while (at < range.end) {
      auto next = intervals_.lower_bound(at);
      if (next == intervals_.end() || next->first > at) {  // a gap
        const uint64_t end =
            next == intervals_.end() ? range.end : std::min(next->first, range.end);
        intervals_.emplace_hint(next, at, Interval{end, mine});
        at = end;
        continue;
      }
      SharedClock& both = joined[next->second.clock.get()];
      if (both == nullptr) {
        auto sum = std::make_shared<VectorClock>();
        sum->assign(*next->second.clock);
        sum->join(*mine);
        both = std::move(sum);
      }
      at = next->second.end;
      next->second.clock = both;
    }
  }
  self.unpublished = false;
  ++generation_;
  clocks_.advance(thread);
}

void Regions::flush_others(ThreadId thread) {
  if (unpublished_.empty()) return;
  std::vector<ThreadId> kept;
  for (const ThreadId other : unpublished_) {
    if (other == thread) {
      kept.push_back(other);
    } else if (state(other).unpublished) {
      publish_all(other);
    }
  }
  unpublished_.swap(kept);
}

// Acquire, then publish: the thread then knows everything that its intervals knew, so its clock
// replaces theirs.
void Regions::sync(ThreadId thread) {
  flush_others(thread);
  acquire(thread);
  Thread& self = state(thread);
  if (!self.reach.empty()) {
    const auto mine = std::make_shared<VectorClock>();
    mine->assign(clocks_.clock(thread));
    for (const Range& range : self.reach) {
      split(range.begin);
      split(range.end);
      intervals_.erase(intervals_.lower_bound(range.begin), intervals_.lower_bound(range.end));
      intervals_[range.begin] = {range.end, mine};
    }
    ++generation_;
  }
  self.seen = generation_;
  if (self.unpublished) std::erase(unpublished_, thread);
  self.unpublished = false;
  clocks_.advance(thread);
}

void Regions::begin(ThreadId thread, Ranges reach) {
  ++regions_;
  ++open_;
  Thread& self = state(thread);
  Ranges all = self.reach;
  all.insert(all.end(), reach.begin(), reach.end());
  self.open.push_back(std::move(reach));
  self.reach = normalised(all);
  self.seen = 0;
  sync(thread);
}

void Regions::end(ThreadId thread) {
  if (!inside(thread)) {
    ++unmatched_ends_;
    return;
  }
  sync(thread);
  Thread& self = state(thread);
  self.open.pop_back();
  --open_;
  Ranges all;
  for (const Ranges& open : self.open) all.insert(all.end(), open.begin(), open.end());
  self.reach = normalised(all);
  self.seen = 0;
}

void Regions::before_inner(ThreadId thread) {
  flush_others(thread);
  acquire(thread);
}

void Regions::after_inner(ThreadId thread) {
  Thread& self = state(thread);
  if (self.unpublished) return;
  self.unpublished = true;
  unpublished_.push_back(thread);
}

void Regions::before_fork_of(ThreadId thread) {
  if (!inside(thread) || !state(thread).unpublished) return;
  publish_all(thread);
  std::erase(unpublished_, thread);
}

void Regions::add_counters(Counters& counters) const {
  counters.push_back({"regions", regions_, "calls into uninstrumented code", false});
  counters.push_back({"unmatched_region_ends", unmatched_ends_,
                      "ends of regions that had not begun; ignored", true});
}

}  // namespace deadheat::analysis
