// The paper's scan visits every concurrent pair, which can be the product of two tasks' accesses.
// Only the nearest few per code path are kept, so here a task's accesses to an object are divided
// by program and call, and each access is compared with the nearest concurrent ones of every such
// list of the other task.
#include "lib/process/races/load_store.h"

#include <algorithm>

namespace deadheat::process::races {
namespace {

constexpr uint32_t kNearest = 8;         // per list and side
constexpr uint64_t kTriesAnAccess = 64;  // per object, on average
constexpr uint64_t kTriesAnyway = 200000;

struct List {  // accesses of one task by one program and call, in order
  uint64_t path = 0;
  bool stores = false;
  bool ascending = true;  // its ranges, so that overlaps can be found by binary search
  std::vector<const effects::Access*> accesses;
};

struct Party {  // a task's accesses to the current object
  uint32_t task = 0;
  bool stores = false;
  std::vector<List> lists;
};

class Scan {
 public:
  Scan(const effects::Model& model, const Graph& graph, RaceCollector& races)
      : model_(model), graph_(graph), races_(races) {
    for (const effects::Edge& reap : model.reaps) reaps_.emplace(reap.to, reap.from);
  }

  void object(uint32_t object, const std::vector<const effects::Access*>& accesses) {
    object_ = object;
    kind_ = model_.objects[object].kind;
    tries_ = 0;
    most_tries_ = kTriesAnyway + kTriesAnAccess * accesses.size();
    divide(accesses);
    std::vector<uint32_t> storing;
    for (uint32_t i = 0; i < parties_.size(); i++)
      if (parties_[i].stores) storing.push_back(i);
    if (storing.empty() || parties_.size() < 2) return;
    // Neighbours first: if the tries run out, the omitted pairs are farther apart.
    if (uint64_t{storing.size()} * parties_.size() <= most_tries_) {
      for (const uint32_t i : storing)
        for (uint32_t j = 0; j < parties_.size(); j++)
          if (i != j && (!parties_[j].stores || i < j)) pair(parties_[i], parties_[j]);
      return;
    }
    for (uint32_t apart = 1; apart < parties_.size() && tries_ < most_tries_; apart++)
      for (uint32_t i = 0; i + apart < parties_.size(); i++)
        if (parties_[i].stores || parties_[i + apart].stores)
          pair(parties_[i], parties_[i + apart]);
  }

 private:
  void divide(const std::vector<const effects::Access*>& accesses) {
    parties_.clear();
    std::unordered_map<uint32_t, uint32_t> index;
    for (const effects::Access* access : accesses) {
      const uint32_t task = model_.nodes[access->node].task;
      const auto [at, fresh] = index.try_emplace(task, static_cast<uint32_t>(parties_.size()));
      if (fresh) parties_.emplace_back().task = task;
      Party& party = parties_[at->second];
      party.stores |= access->store;
      const uint64_t path = races_.path_of(access->node) * 2 + (access->store ? 1 : 0);
      auto list = std::find_if(party.lists.begin(), party.lists.end(),
                               [&](const List& one) { return one.path == path; });
      if (list == party.lists.end()) {
        party.lists.emplace_back().path = path;
        list = party.lists.end() - 1;
        list->stores = access->store;
      }
      if (!list->accesses.empty() && (access->begin < list->accesses.back()->begin ||
                                      access->end < list->accesses.back()->end))
        list->ascending = false;
      list->accesses.push_back(access);
    }
  }

  void pair(const Party& one, const Party& other) {
    for (const List& a : one.lists)
      for (const List& b : other.lists)
        if (a.stores || b.stores) {
          if (a.accesses.size() <= b.accesses.size())
            lists(a, b);
          else
            lists(b, a);
        }
  }

  // For each access of the shorter list, the concurrent accesses of the other list are contiguous,
  // between those before it and those after it; both borders only move forward.
  void lists(const List& few, const List& many) {
    size_t low = 0, high = 0;
    const auto& others = many.accesses;
    for (const effects::Access* access : few.accesses) {
      low = std::max(low, border(others, low, [&](const effects::Access* other) {
                       return graph_.before(other->node, access->node);
                     }));
      high = std::max(
          {high, low, border(others, std::max(high, low), [&](const effects::Access* other) {
             return !graph_.before(access->node, other->node);
           })});
      tries_++;
      if (low == high) continue;
      if (tries_ > most_tries_) {
        races_.count_unscanned(high - low);
        continue;
      }
      window(*access, many, low, high);
    }
  }

  // First index from `from` on at which `holds` is false; it holds before that.
  template <typename Holds>
  static size_t border(const std::vector<const effects::Access*>& list, size_t from, Holds holds) {
    size_t step = 1, at = from;
    while (at < list.size() && holds(list[at])) {
      from = at + 1;
      at += step;
      step *= 2;
    }
    at = std::min(at, list.size());
    while (from < at) {
      const size_t middle = from + (at - from) / 2;
      if (holds(list[middle]))
        from = middle + 1;
      else
        at = middle;
    }
    return from;
  }

  void window(const effects::Access& access, const List& many, size_t low, size_t high) {
    const auto& others = many.accesses;
    const auto begin = others.begin() + static_cast<ptrdiff_t>(low);
    const auto end = others.begin() + static_cast<ptrdiff_t>(high);
    size_t first = low, last = high;
    if (many.ascending && high - low > 2 * kNearest) {
      // Overlapping ones are contiguous too.
      first = static_cast<size_t>(
          std::partition_point(begin, end,
                               [&](const effects::Access* o) { return o->end <= access.begin; }) -
          others.begin());
      last = static_cast<size_t>(
          std::partition_point(begin, end,
                               [&](const effects::Access* o) { return o->begin < access.end; }) -
          others.begin());
      last = std::max(first, last);
    }
    const auto middle = static_cast<size_t>(
        std::partition_point(others.begin() + static_cast<ptrdiff_t>(first),
                             others.begin() + static_cast<ptrdiff_t>(last),
                             [&](const effects::Access* o) { return o->node < access.node; }) -
        others.begin());
    const size_t left = std::max(first, middle > kNearest ? middle - kNearest : 0);
    const size_t right = std::min(last, middle + kNearest);
    for (size_t i = left; i < right; i++) report(access, *others[i]);
    races_.count_unscanned((left - first) + (last - right));
    tries_ += right - left;
  }

  void report(const effects::Access& one, const effects::Access& other) {
    if (!conflict(kind_, one, other)) return;
    const auto [early, late] = std::minmax(one.node, other.node);
    // Everything a process did precedes its death, which precedes the wait that reaped it.
    if (const auto reap = reaps_.find(late);
        reap != reaps_.end() && reap->second != early &&
        model_.nodes[reap->second].task == model_.nodes[early].task)
      return;
    if (under_common_lock(model_, model_.nodes[early], model_.nodes[late])) {
      races_.count_under_lock();
      return;
    }
    races_.add(model::CandidateKind::kLoadStore, {early, late}, object_);
  }

  const effects::Model& model_;
  const Graph& graph_;
  RaceCollector& races_;
  std::vector<Party> parties_;
  std::unordered_map<uint32_t, uint32_t> reaps_;  // wait -> the death that it reaped
  uint32_t object_ = 0;
  effects::ObjectKind kind_ = effects::ObjectKind::kName;
  uint64_t tries_ = 0, most_tries_ = 0;
};

}  // namespace

bool conflict(effects::ObjectKind kind, const effects::Access& one, const effects::Access& other) {
  if (!one.store && !other.store) return false;
  uint64_t begin = std::max(one.begin, other.begin);
  uint64_t end = std::min(one.end, other.end);
  if (begin >= end) return false;
  const bool both = one.store && other.store;
  switch (kind) {
    case effects::ObjectKind::kDirectory:
      return !both;  // two names in one folder do not conflict; one name is a race on the name
    case effects::ObjectKind::kMeta:
      // The last write determines time and size: no information beyond the race on the data.
      return !both || begin <= effects::kMetaMode;
    case effects::ObjectKind::kSignal:
    case effects::ObjectKind::kSignalState:
      return false;  // section 5.3.3
    case effects::ObjectKind::kLock:
      return one.role != effects::AccessRole::kWakeup && other.role != effects::AccessRole::kWakeup;
    case effects::ObjectKind::kStream:
    case effects::ObjectKind::kChild:
    case effects::ObjectKind::kListener:
      // A wait and its wake-up are handled in sections 5.3.2 and 5.3.3.
      return one.role == effects::AccessRole::kPlain || other.role == effects::AccessRole::kPlain;
    default:
      return true;
  }
}

bool under_common_lock(const effects::Model& model, const effects::Node& one,
                       const effects::Node& other) {
  if (one.locks == 0 || other.locks == 0) return false;
  for (const effects::HeldLock& a : model.lock_sets[one.locks])
    for (const effects::HeldLock& b : model.lock_sets[other.locks])
      if (a.object == b.object && a.owner != b.owner && (a.exclusive || b.exclusive) &&
          a.begin < b.end && b.begin < a.end)
        return true;
  return false;
}

void find_load_store_races(const effects::Model& model, const Graph& graph, RaceCollector& races) {
  std::vector<uint32_t> first(model.objects.size() + 1, 0);
  for (const effects::Access& access : model.accesses) first[access.object + 1]++;
  for (size_t i = 1; i < first.size(); i++) first[i] += first[i - 1];
  std::vector<const effects::Access*> sorted(model.accesses.size());
  std::vector<uint32_t> next(first);
  for (const effects::Access& access : model.accesses) sorted[next[access.object]++] = &access;

  Scan scan(model, graph, races);
  std::vector<const effects::Access*> accesses;
  for (uint32_t object = 0; object < model.objects.size(); object++) {
    if (first[object] + 1 >= first[object + 1]) continue;
    accesses.assign(sorted.begin() + first[object], sorted.begin() + first[object + 1]);
    scan.object(object, accesses);
  }
}

}  // namespace deadheat::process::races
