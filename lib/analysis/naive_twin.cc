#include "lib/analysis/naive_twin.h"

#include <algorithm>
#include <map>
#include <optional>
#include <vector>

namespace deadheat::analysis {

using trace::Event;
using trace::EventKind;
using trace::MemoryOrder;
using trace::Range;

namespace {

bool acquires(MemoryOrder o) {
  return o == MemoryOrder::kAcquire || o == MemoryOrder::kConsume || o == MemoryOrder::kAcqRel ||
         o == MemoryOrder::kSeqCst;
}
bool releases(MemoryOrder o) {
  return o == MemoryOrder::kRelease || o == MemoryOrder::kAcqRel || o == MemoryOrder::kSeqCst;
}
bool is_memory(EventKind k) { return k <= EventKind::kReadModifyWrite || k == EventKind::kFree; }
bool is_write(const Event& e) { return is_memory(e.kind) && e.kind != EventKind::kRead; }
bool is_atomic(const Event& e) {
  return e.kind == EventKind::kReadModifyWrite ||
         (e.order != MemoryOrder::kPlain && e.kind <= EventKind::kWrite);
}
bool covers_byte(const Event& e, uint64_t byte) {
  return byte >= e.address && byte < e.address + e.size;
}

class Graph {
 public:
  Graph(const Trace& trace, const Options& options)
      : t_(trace), o_(options), n_(trace.events.size()), in_(n_), rf_(n_) {
    program_order();
    sync_edges();
    barriers();
    if (atomics()) atomic_edges();
    if (options.engine == EngineKind::kRdit && options.missing != Missing::kIgnore) region_edges();
    if (full()) semaphore_edges();
    reads_from();
    hb_ = closure(false);
    shb_ = closure(true);
  }

  bool hb(size_t a, size_t b) const { return hb_[b][a]; }
  // Ordered before b other than by b's own reading from its writer.
  bool shb(size_t a, size_t b) const {
    for (const size_t p : in_[b])
      if (p == a || shb_[p][a]) return true;
    return false;
  }

 private:
  bool hybrid() const { return o_.engine == EngineKind::kHybrid; }
  bool full() const { return !hybrid() || o_.edges == Edges::kFull; }
  bool atomics() const { return full(); }
  const Event& e(size_t i) const { return t_.events[i]; }
  void edge(size_t a, size_t b) { in_[b].push_back(a); }

  void program_order() {
    for (size_t j = 0; j < n_; ++j)
      for (size_t i = j; i-- > 0;)
        if (e(i).thread == e(j).thread) {
          edge(i, j);
          break;
        }
  }

  void sync_edges() {
    for (size_t j = 0; j < n_; ++j) {
      for (size_t i = 0; i < j; ++i) {
        const Event &a = e(i), &b = e(j);
        const bool same = a.address == b.address;
        const auto is = [&](EventKind from, EventKind to) {
          return same && a.kind == from && b.kind == to;
        };
        bool ordered = false;
        if (!hybrid()) {
          ordered = is(EventKind::kRelease, EventKind::kAcquire) ||
                    is(EventKind::kRelease, EventKind::kAcquireShared) ||
                    is(EventKind::kReleaseShared, EventKind::kAcquire);
        }
        ordered = ordered || is(EventKind::kNotify, EventKind::kWait);
        if (full()) {
          ordered = ordered || is(EventKind::kOnceDone, EventKind::kOnceSeen) ||
                    is(EventKind::kHappensBefore, EventKind::kHappensAfter);
        }
        ordered =
            ordered || (a.kind == EventKind::kFork && b.thread == a.other && a.other != a.thread);
        ordered =
            ordered || (b.kind == EventKind::kJoin && a.thread == b.other && b.other != b.thread);
        // A thread without events still existed between its start and its end.
        ordered = ordered || (a.kind == EventKind::kFork && b.kind == EventKind::kJoin &&
                              a.other == b.other && a.other != a.thread && b.other != b.thread);
        if (ordered) edge(i, j);
      }
    }
  }

  // Since the semaphore's last initialisation, or since ever.
  size_t initialised(size_t at) const {
    for (size_t i = at; i-- > 0;)
      if (e(i).address == e(at).address && e(i).kind == EventKind::kSemaphoreInit &&
          e(i).other != trace::kUnknownTokens)
        return i;
    return n_;
  }

  // What a wait leaves behind, or nothing if that is not known.
  std::optional<int64_t> tokens_left(size_t init, size_t wait) const {
    if (init == n_) return std::nullopt;
    int64_t tokens = e(init).other;
    for (size_t i = init + 1; i <= wait; ++i) {
      if (e(i).address != e(wait).address) continue;
      if (e(i).kind == EventKind::kSemaphoreInit) return std::nullopt;
      if (e(i).kind == EventKind::kSemaphorePost) ++tokens;
      if (e(i).kind == EventKind::kSemaphoreWait && --tokens < 0) return std::nullopt;
    }
    return tokens;
  }

  bool reaches(size_t from, size_t to) const {
    if (from == to) return true;
    return std::ranges::any_of(in_[to], [&](size_t p) { return p >= from && reaches(from, p); });
  }

  // lib/order/semaphore.h: a post is needed for a wait if, without it and the posts that come after
  // it, the tokens would not have sufficed. Edges only lead forwards, so those to earlier events
  // are complete when a wait needs them.
  void semaphore_edges() {
    for (size_t j = 0; j < n_; ++j) {
      if (e(j).kind != EventKind::kSemaphoreWait && e(j).kind != EventKind::kSemaphoreSeen)
        continue;
      const size_t init = initialised(j);
      std::optional<int64_t> left;
      if (e(j).kind == EventKind::kSemaphoreWait) left = tokens_left(init, j);
      std::vector<size_t> posts;
      for (size_t i = init == n_ ? 0 : init; i < j; ++i)
        if (e(i).kind == EventKind::kSemaphorePost && e(i).address == e(j).address)
          posts.push_back(i);
      if (init != n_) edge(init, j);
      for (size_t k = 0; k < posts.size(); ++k) {
        const auto later = std::ranges::count_if(
            posts, [&](size_t q) { return q >= posts[k] && reaches(posts[k], q); });
        if (!left || later > *left) edge(posts[k], j);
      }
    }
  }

  void barriers() {
    if (!full()) return;
    std::map<uint64_t, uint64_t> filling;
    std::map<std::pair<uint64_t, uint64_t>, std::vector<size_t>> entered;  // barrier, phase
    std::map<std::pair<uint64_t, uint32_t>, uint64_t> phase_of;            // barrier, thread
    for (size_t i = 0; i < n_; ++i) {
      const Event& a = e(i);
      if (a.kind == EventKind::kBarrierEnter) {
        entered[{a.address, filling[a.address]}].push_back(i);
        phase_of[{a.address, a.thread}] = filling[a.address];
      } else if (a.kind == EventKind::kBarrierLeave) {
        const auto at = phase_of.find({a.address, a.thread});
        if (at == phase_of.end()) continue;
        if (at->second == filling[a.address]) ++filling[a.address];
        for (const size_t enter : entered[{a.address, at->second}]) edge(enter, i);
        phase_of.erase(at);
      }
    }
  }

  // C++20 [atomics.order], [atomics.fences]: every head of a release sequence that the load reads
  // from, directly or through a release fence before it, synchronises with the load or with an
  // acquire fence after it. In C11 (5.1.2.4), C17, C23 and C++ before 20, a store continues the
  // sequences of its own thread.
  void atomic_edges() {
    for (size_t l = 0; l < n_; ++l) {
      if (!is_atomic(e(l)) || e(l).kind == EventKind::kWrite) continue;
      std::vector<size_t> targets;
      if (acquires(e(l).order)) {
        targets.push_back(l);
      } else {
        for (size_t g = l + 1; g < n_; ++g)
          if (e(g).thread == e(l).thread && e(g).kind == EventKind::kFence &&
              acquires(e(g).order)) {
            targets.push_back(g);
            break;
          }
      }
      bool anybody = true;  // may head a sequence that extends to the load
      uint32_t only = 0;    // otherwise this thread
      for (size_t w = l; w-- > 0;) {
        if (!is_atomic(e(w)) || e(w).kind == EventKind::kRead || e(w).address != e(l).address)
          continue;
        if (!anybody && e(w).thread != only) {
          if (e(w).kind == EventKind::kWrite) break;
          continue;
        }
        size_t source = n_;
        if (releases(e(w).order)) {
          source = w;
        } else {
          for (size_t f = w; f-- > 0;)
            if (e(f).thread == e(w).thread && e(f).kind == EventKind::kFence &&
                releases(e(f).order)) {
              source = f;
              break;
            }
        }
        if (source != n_)
          for (const size_t target : targets) edge(source, target);
        if (e(w).kind != EventKind::kWrite) continue;
        if (e(w).order == MemoryOrder::kRelaxed20) break;
        anybody = false;
        only = e(w).thread;
      }
    }
  }

  struct BarrierPair {
    uint32_t thread;
    std::vector<size_t> events;
    std::vector<Range> reach;
    uint64_t module;
  };

  std::vector<BarrierPair> barrier_pairs() const {
    std::vector<BarrierPair> all;
    std::map<uint32_t, std::vector<size_t>> open;
    for (size_t i = 0; i < n_; ++i) {
      auto& stack = open[e(i).thread];
      const auto ranges =
          trace::EventKind::kRegionBegin == e(i).kind || trace::EventKind::kRegionEnd == e(i).kind
              ? t_.ranges_of(e(i))
              : std::span<const Range>{};
      if (e(i).kind == EventKind::kRegionBegin) {
        stack.push_back(all.size());
        all.push_back({e(i).thread, {}, {}, e(i).address});
      }
      if (!stack.empty())
        all[stack.back()].reach.insert(all[stack.back()].reach.end(), ranges.begin(), ranges.end());
      if (e(i).kind != EventKind::kFunctionEntry && e(i).kind != EventKind::kFunctionExit)
        for (const size_t pair : stack) all[pair].events.push_back(i);
      if (e(i).kind == EventKind::kRegionEnd && !stack.empty()) stack.pop_back();
    }
    return all;
  }

  bool intersect(const BarrierPair& a, const BarrierPair& b) const {
    if (o_.missing == Missing::kNaive || o_.globals == Globals::kAll) return true;
    if (o_.globals == Globals::kModule && a.module == b.module) return true;
    for (const Range& x : a.reach)
      for (const Range& y : b.reach)
        if (std::max(x.begin, y.begin) < std::min(x.end, y.end)) return true;
    return false;
  }

  // rdit.txt, Algorithm 1, lines 21 to 28.
  void region_edges() {
    const auto pairs = barrier_pairs();
    for (const BarrierPair& a : pairs)
      for (const BarrierPair& b : pairs) {
        if (a.thread == b.thread || !intersect(a, b)) continue;
        for (const size_t i : a.events)
          for (const size_t j : b.events)
            if (i < j) edge(i, j);
      }
  }

  void reads_from() {
    for (size_t j = 0; j < n_; ++j) {
      if (e(j).kind != EventKind::kRead && e(j).kind != EventKind::kReadModifyWrite) continue;
      for (uint64_t byte = e(j).address; byte < e(j).address + e(j).size; ++byte)
        for (size_t i = j; i-- > 0;) {
          if (e(i).kind == EventKind::kAlloc && covers_byte(e(i), byte)) break;
          if ((e(i).kind == EventKind::kWrite || e(i).kind == EventKind::kReadModifyWrite) &&
              covers_byte(e(i), byte)) {
            rf_[j].push_back(i);
            break;
          }
        }
    }
  }

  std::vector<std::vector<bool>> closure(bool with_reads_from) const {
    std::vector<std::vector<bool>> before(n_, std::vector<bool>(n_, false));
    for (size_t j = 0; j < n_; ++j) {
      const auto add = [&](size_t p) {
        before[j][p] = true;
        for (size_t i = 0; i < p; ++i)
          if (before[p][i]) before[j][i] = true;
      };
      for (const size_t p : in_[j]) add(p);
      if (with_reads_from)
        for (const size_t p : rf_[j]) add(p);
    }
    return before;
  }

  const Trace& t_;
  const Options& o_;
  size_t n_;
  std::vector<std::vector<size_t>> in_, rf_;
  std::vector<std::vector<bool>> hb_, shb_;
};

// The locks that the thread holds at event `at`, each with whether it is exclusive.
std::map<uint64_t, bool> held(const Trace& trace, size_t at) {
  std::map<uint64_t, std::pair<int, bool>> counts;
  for (size_t i = 0; i < at; ++i) {
    const Event& e = trace.events[i];
    if (e.thread != trace.events[at].thread) continue;
    if (e.kind == EventKind::kAcquire || e.kind == EventKind::kAcquireShared) {
      auto& [count, exclusive] = counts[e.address];
      ++count;
      exclusive = exclusive || e.kind == EventKind::kAcquire;
    } else if (e.kind == EventKind::kRelease || e.kind == EventKind::kReleaseShared) {
      const auto lock = counts.find(e.address);
      if (lock != counts.end() && --lock->second.first == 0) counts.erase(lock);
    }
  }
  std::map<uint64_t, bool> result;
  for (const auto& [lock, state] : counts) result[lock] = state.second;
  return result;
}

bool protected_pair(const Trace& trace, size_t i, size_t j) {
  const auto a = held(trace, i), b = held(trace, j);
  for (const auto& [lock, exclusive] : a) {
    const auto other = b.find(lock);
    if (other != b.end() && (exclusive || other->second)) return true;
  }
  return false;
}

// The relaxed write with which the recorder marks a new block, at the site of its allocation.
bool is_fresh_mark(const Trace& trace, size_t i) {
  const Event& mark = trace.events[i];
  if (mark.kind != EventKind::kWrite || mark.order != MemoryOrder::kRelaxed) return false;
  for (size_t k = i; k-- > 0;) {
    const Event& e = trace.events[k];
    if (e.thread != mark.thread || e.kind != EventKind::kAlloc) continue;
    return e.address == mark.address && e.site == mark.site;
  }
  return false;
}

// Whether both touch a byte that was not newly allocated between them.
bool share_a_byte(const Trace& trace, size_t i, size_t j) {
  const Event &a = trace.events[i], &b = trace.events[j];
  for (uint64_t byte = std::max(a.address, b.address);
       byte < std::min(a.address + a.size, b.address + b.size); ++byte) {
    bool anew = false;
    for (size_t k = i + 1; k < j; ++k)
      anew =
          anew || (trace.events[k].kind == EventKind::kAlloc && covers_byte(trace.events[k], byte));
    if (!anew) return true;
  }
  return false;
}

SitePairs::value_type ordered_pair(trace::SiteId a, trace::SiteId b) {
  return {std::min(a, b), std::max(a, b)};
}

}  // namespace

TwinResult naive_twin(const Trace& trace, const Options& options) {
  const Graph graph(trace, options);
  TwinResult result;
  for (size_t j = 0; j < trace.events.size(); ++j) {
    for (size_t i = 0; i < j; ++i) {
      const Event &a = trace.events[i], &b = trace.events[j];
      if (!is_memory(a.kind) || !is_memory(b.kind) || a.thread == b.thread) continue;
      if ((!is_write(a) && !is_write(b)) || (is_atomic(a) && is_atomic(b)) ||
          !share_a_byte(trace, i, j))
        continue;
      if (options.engine == EngineKind::kHybrid &&
          (protected_pair(trace, i, j) || is_fresh_mark(trace, i) || is_fresh_mark(trace, j)))
        continue;
      if (graph.hb(i, j)) continue;
      result.racy.insert(ordered_pair(a.site, b.site));
      if (!graph.shb(i, j)) result.schedulable.insert(ordered_pair(a.site, b.site));
    }
  }
  return result;
}

SitePairs pairs_of(const Report& report) {
  SitePairs pairs;
  for (const RacyPair& pair : report.pairs)
    pairs.insert(ordered_pair(pair.first.site, pair.second.site));
  return pairs;
}

SitePairs schedulable_of(const Report& report) {
  SitePairs pairs;
  for (const RacyPair& pair : report.pairs)
    if (pair.schedulable == Schedulable::kYes)
      pairs.insert(ordered_pair(pair.first.site, pair.second.site));
  return pairs;
}

}  // namespace deadheat::analysis
