// How states compose, and how they merge.
#include <algorithm>

#include "compiler/scan/summary.h"

namespace deadheat::scan {
namespace {

bool overlap(LocationList a, LocationList b) {
  if (a == b) return !a.empty();
  for (size_t i = 0, j = 0; i < a.size() && j < b.size();) {
    if (a[i] == b[j]) return true;
    ++(a[i] < b[j] ? i : j);
  }
  return false;
}

template <typename Set>
Set intersection(const Set& a, const Set& b) {
  Set out;
  std::set_intersection(a.begin(), a.end(), b.begin(), b.end(), std::inserter(out, out.end()));
  return out;
}

Spawns without(Spawns from, const Spawns& what) { return from.reset(what); }

}  // namespace

// The one that is named so; else any that it may be. True if one of ours was meant for certain.
bool release(Locks& held, const Lock& lock) {
  if (lock.path != kNoPath)
    for (auto one = held.begin(); one != held.end(); ++one)
      if (one->path == lock.path) {
        held.erase(one);
        return true;
      }
  std::erase_if(held, [&](const Lock& one) { return overlap(one.locations, lock.locations); });
  return false;
}

// Two entries are for recursive locks; a loop that unlocks must not add one in each turn.
void State::note_release(const Lock& lock) {
  constexpr size_t kMostTimes = 2;
  if (released.count(lock) < kMostTimes) released.insert(lock);
}

void State::then(const State& next) {
  if (!next.reached) {
    reached = false;
    return;
  }
  if (next.released_all) {
    acquired.clear();
    released_all = true;
  }
  for (const Lock& lock : next.released)
    if (!release(acquired, lock)) note_release(lock);
  acquired.insert(next.acquired.begin(), next.acquired.end());
  started = without(started, next.joined);
  started |= next.started;
  joined |= next.joined;
  joined.reset(next.started);
  waited.insert(next.waited.begin(), next.waited.end());
}

void State::meet(const State& other) {
  if (!other.reached) return;
  if (!reached) {
    *this = other;
    return;
  }
  acquired = intersection(acquired, other.acquired);
  released_all |= other.released_all;
  for (const Lock& lock : other.released)
    if (!released.contains(lock)) released.insert(lock);
  started |= other.started;
  joined &= other.joined;
  waited.insert(other.waited.begin(), other.waited.end());
}

}  // namespace deadheat::scan
