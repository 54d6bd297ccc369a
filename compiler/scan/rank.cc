// How likely a pair is to be a race, and why: each reason moves the score and is shown.
#include <algorithm>
#include <numeric>

#include "compiler/scan/pairs.h"

namespace deadheat::scan {
namespace {

using model::AccessKind;

bool share(const std::set<Location>& a, const std::set<Location>& b) {
  return std::any_of(a.begin(), a.end(), [&](Location one) { return b.contains(one); });
}

}  // namespace

// Not std::stable_sort: this library's uses a function that the standard has deprecated.
void likeliest_first(std::vector<Pair>& pairs) {
  std::vector<size_t> order(pairs.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return pairs[a].score != pairs[b].score ? pairs[a].score > pairs[b].score : a < b;
  });
  std::vector<Pair> sorted;
  sorted.reserve(pairs.size());
  for (const size_t one : order) sorted.push_back(std::move(pairs[one]));
  pairs = std::move(sorted);
}

void mark_repeats(std::vector<Pair>& pairs) {
  std::set<std::pair<ObjectId, int64_t>> known;
  for (Pair& pair : pairs) pair.repeats = !known.insert({pair.object, pair.offset}).second;
}

bool PairFinder::waits_for(const Way& way, size_t other_root, const Access& access) const {
  const auto [entry, fresh] = waits_.try_emplace({&way, other_root});
  if (fresh)
    for (const LocationList list : way.waited)
      for (const Location one : list)
        if (signals_[other_root].contains(one)) entry->second.push_back(one);
  // Waiting for the very variable orders nothing about it.
  const Set& self = points_to_.of(access.pointer);
  return std::any_of(entry->second.begin(), entry->second.end(),
                     [&](Location one) { return one == kDescriptors || !self.test(one); });
}

// Many pairs are ranked and few are shown: the words are made only for those.
void PairFinder::rank(Pair& pair, bool explain) const {
  const Way& a = ways_[pair.ways[0]];
  const Way& b = ways_[pair.ways[1]];
  const Access& x = pair.a.point->access;
  const Access& y = pair.b.point->access;
  const Object& object = points_to_.locations().object(pair.object);
  int score = 50;
  const auto say = [&](int weight, const char* text) {
    score += weight;
    if (explain) pair.reasons.emplace_back(text);
  };
  pair.ad_hoc =
      (x.spins && x.kind == AccessKind::kRead) || (y.spins && y.kind == AccessKind::kRead);
  if (pair.ad_hoc) say(10, "ad-hoc synchronisation: a loop only waits for this variable");
  if (pair.same_site_locks) say(-25, "both hold a lock of the same kind, perhaps the same one");
  const bool waited = waits_for(a, b.root, x) || waits_for(b, a.root, y);
  const bool barrier = share(barriers_[a.root], barriers_[b.root]);
  // Descriptors order two threads only where both mean the same one, which is not known.
  const auto only_descriptors = [&](const Way& way, size_t root) {
    const auto found = waits_.find({&way, root});
    return found == waits_.end() || std::all_of(found->second.begin(), found->second.end(),
                                                [](Location one) { return one == kDescriptors; });
  };
  const bool weakly = waited && only_descriptors(a, b.root) && only_descriptors(b, a.root);
  pair.likely_ordered = (waited && !weakly) || barrier;
  if (weakly)
    say(-10, "perhaps ordered: one side reads from a descriptor, the other writes to one");
  if (waited && !weakly)
    say(-30,
        "likely ordered: one side waits for a condition, semaphore or flag that the other sets");
  if (barrier) say(-30, "likely ordered: both threads meet at a barrier");
  if (object.kind == ObjectKind::kGlobal && !x.varies && !y.varies)
    say(20, "a global variable, named on both sides");
  if (x.varies || y.varies) say(-20, "an array element: the indices may always differ");
  if (object.kind == ObjectKind::kExternal) say(-25, "memory that a library handed out");
  if (object.kind == ObjectKind::kHeap || object.kind == ObjectKind::kStack)
    if (!is_unique(pair.object)) say(-10, "one of several objects of its kind");
  if (a.held.empty() != b.held.empty()) {
    say(15, "one side holds a lock, the other none");
  } else if (a.held.empty()) {
    say(5, "neither side holds a lock");
  } else if (!pair.same_site_locks) {
    say(0, "each side holds another lock");
  }
  if (pair.repeats) say(-20, "a likelier pair of the same bytes stands before it");
  if (contexts_.roots()[a.root].kind == RootKind::kHandler ||
      contexts_.roots()[b.root].kind == RootKind::kHandler)
    say(-15, "one side is a signal handler");
  if (contexts_.roots()[a.root].kind == RootKind::kEntry)
    say(-10, "only if callers run these functions in parallel");
  if (pair.aliases > 1)
    say(-static_cast<int>(std::min<size_t>(20, pair.aliases)),
        "a pointer that may mean several places");
  if (x.kind == AccessKind::kFree || y.kind == AccessKind::kFree)
    say(-10, "memory is freed on one side");
  pair.score = std::clamp(score, 0, 100);
}

}  // namespace deadheat::scan
