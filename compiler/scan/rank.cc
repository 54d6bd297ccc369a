// How likely a pair is to be a race, and why: each reason changes the score and is shown.
#include <algorithm>
#include <numeric>

#include "compiler/scan/pairs.h"

namespace deadheat::scan {
namespace {

using model::AccessKind;

struct Reason {
  int weight;
  const char* text;
};
constexpr int kStart = 50;
constexpr Reason kAdHoc{10, "ad-hoc synchronisation: a loop only waits for this variable"},
    kSameKindOfLock{-25, "both hold a lock of the same kind, perhaps the same one"},
    kDescriptorsOnly{-10,
                     "perhaps ordered: one side reads from a descriptor, the other writes to one"},
    kWaited{-30,
            "likely ordered: one side waits for a condition, semaphore or flag that the other "
            "sets"},
    kBarrier{-30, "likely ordered: both threads meet at a barrier"},
    kNamedGlobal{20, "a global variable, named on both sides"},
    kElement{-20, "an array element: the indices may always differ"},
    kLibraryMemory{-25, "memory that a library handed out"},
    kOneOfSeveral{-10, "one of several objects of its kind"},
    kOneSideLocks{15, "one side holds a lock, the other none"},
    kNoLocks{5, "neither side holds a lock"}, kOtherLocks{0, "each side holds another lock"},
    kRepeats{-20, "a likelier pair of the same bytes stands before it"},
    kHandler{-15, "one side is a signal handler"},
    kCallersDecide{-10, "only if callers run these functions in parallel"},
    kFreed{-10, "memory is freed on one side"};

// The more places, the less likely: a pointer that may mean half of the objects says nothing.
Reason several_places(size_t aliases) {
  constexpr size_t kMany = 20;
  constexpr int kForEachDoubling = 4, kMost = 40;
  int weight = static_cast<int>(std::min(kMany, aliases));
  for (size_t more = aliases / kMany; more > 1 && weight < kMost; more /= 2)
    weight += kForEachDoubling;
  return {-weight, "a pointer that may mean several places"};
}

// What callers pass to a library's functions is judged by those (kCallersDecide).
bool is_of_library(const Object& object) {
  return object.kind == ObjectKind::kExternal && !llvm::isa<llvm::Argument>(object.site);
}

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
  // A few tell as much as all: it matters whether one of them is not what is accessed.
  constexpr size_t kEnough = 256;
  if (fresh)
    for (const LocationList list : way.waited) {
      const auto [met, unknown] = met_.try_emplace({list, other_root});
      if (unknown)
        for (const Location one : list)
          if (signals_[other_root].test(one) && met->second.size() < kEnough)
            met->second.push_back(one);
      entry->second.insert(entry->second.end(), met->second.begin(), met->second.end());
    }
  // Waiting for the very variable orders nothing about it.
  const Set& self = points_to_.of(access.pointer);
  return std::any_of(entry->second.begin(), entry->second.end(),
                     [&](Location one) { return one == kDescriptors || !self.test(one); });
}

// What the ways of two accesses add to a rank at most: waiting for each other only lowers it.
int PairFinder::most_by_ways(const Way& a, const Way& b, Guard guard) const {
  int score = 0;
  if (guard == Guard::kSameSite) score += kSameKindOfLock.weight;
  if (share(barriers_[a.root], barriers_[b.root])) score += kBarrier.weight;
  if (a.held.empty() != b.held.empty()) {
    score += kOneSideLocks.weight;
  } else if (a.held.empty()) {
    score += kNoLocks.weight;
  }
  const auto is = [&](const Way& way, RootKind kind) {
    return contexts_.roots()[way.root].kind == kind;
  };
  if (is(a, RootKind::kHandler) || is(b, RootKind::kHandler)) score += kHandler.weight;
  if (is(a, RootKind::kEntry)) score += kCallersDecide.weight;
  return score;
}

// What is left of a rank, at most, for any two accesses of two kinds.
int PairFinder::most_by_places(ObjectId id, const Kind& a, const Kind& b) const {
  const Object& object = points_to_.locations().object(id);
  int score = kStart;
  if (a.spins || b.spins) score += kAdHoc.weight;
  if (!a.fixed || !b.fixed) {
    score += kElement.weight;
  } else if (object.kind == ObjectKind::kGlobal && std::max(a.aliases, b.aliases) <= 1) {
    score += kNamedGlobal.weight;
  }
  if (is_of_library(object)) score += kLibraryMemory.weight;
  if (object.kind == ObjectKind::kHeap || object.kind == ObjectKind::kStack)
    if (!is_unique(id)) score += kOneOfSeveral.weight;
  if (const size_t aliases = std::max(a.aliases, b.aliases); aliases > 1)
    score += several_places(aliases).weight;
  if (a.frees || b.frees) score += kFreed.weight;
  return score;
}

// Many pairs are ranked and few are shown: texts are created only for those.
void PairFinder::rank(Pair& pair, bool explain) const {
  const Way& a = ways_[pair.ways[0]];
  const Way& b = ways_[pair.ways[1]];
  const Access& x = pair.a.point->access;
  const Access& y = pair.b.point->access;
  const Object& object = points_to_.locations().object(pair.object);
  int score = kStart;
  const auto say = [&](const Reason& reason) {
    score += reason.weight;
    if (explain) pair.reasons.emplace_back(reason.text);
  };
  pair.ad_hoc =
      (x.spins && x.kind == AccessKind::kRead) || (y.spins && y.kind == AccessKind::kRead);
  if (pair.ad_hoc) say(kAdHoc);
  if (pair.same_site_locks) say(kSameKindOfLock);
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
  if (weakly) say(kDescriptorsOnly);
  if (waited && !weakly) say(kWaited);
  if (barrier) say(kBarrier);
  // A pointer that may mean other things too does not name it.
  if (object.kind == ObjectKind::kGlobal && !x.varies && !y.varies && pair.aliases <= 1)
    say(kNamedGlobal);
  if (x.varies || y.varies) say(kElement);
  if (is_of_library(object)) say(kLibraryMemory);
  if (object.kind == ObjectKind::kHeap || object.kind == ObjectKind::kStack)
    if (!is_unique(pair.object)) say(kOneOfSeveral);
  if (a.held.empty() != b.held.empty()) {
    say(kOneSideLocks);
  } else if (a.held.empty()) {
    say(kNoLocks);
  } else if (!pair.same_site_locks) {
    say(kOtherLocks);
  }
  if (pair.repeats) say(kRepeats);
  if (contexts_.roots()[a.root].kind == RootKind::kHandler ||
      contexts_.roots()[b.root].kind == RootKind::kHandler)
    say(kHandler);
  if (contexts_.roots()[a.root].kind == RootKind::kEntry) say(kCallersDecide);
  if (pair.aliases > 1) say(several_places(pair.aliases));
  if (x.kind == AccessKind::kFree || y.kind == AccessKind::kFree) say(kFreed);
  pair.score = std::clamp(score, 0, 100);
}

}  // namespace deadheat::scan
