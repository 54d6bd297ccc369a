#include "lib/analysis/orders.h"

#include <algorithm>
#include <optional>

namespace deadheat::analysis {

using trace::Event;
using trace::EventKind;
using trace::MemoryOrder;

namespace {

bool changes(Access access) { return access == Access::kAtomicWrite || access == Access::kAcquire; }

std::optional<Access> ordering_access(const Event& event) {
  switch (event.kind) {
    case EventKind::kAcquire:
      return Access::kAcquire;
    case EventKind::kAcquireShared:
      return Access::kAcquireShared;
    case EventKind::kRead:
      if (event.order == MemoryOrder::kPlain) return std::nullopt;
      return Access::kAtomicRead;
    case EventKind::kWrite:
      if (event.order == MemoryOrder::kPlain) return std::nullopt;
      return Access::kAtomicWrite;
    case EventKind::kReadModifyWrite:
      return Access::kAtomicWrite;
    default:
      return std::nullopt;
  }
}

}  // namespace

void Orders::take(const Event& event) {
  ++number_;
  if (!clocks_.admit(event.thread)) {
    ++untracked_;
    return;
  }
  if (event.kind == EventKind::kAlloc) {
    allocated_[event.thread] = event;
    // Accesses to another object at this address no longer count.
    for (const bool is_lock : {false, true})
      objects_.erase(objects_.lower_bound({is_lock, event.address}),
                     objects_.lower_bound({is_lock, event.address + event.size}));
  }
  if (const auto access = ordering_access(event))
    visit(event, *access,
          event.kind == EventKind::kAcquire || event.kind == EventKind::kAcquireShared);
  clocks_.apply(event);
}

void Orders::visit(const Event& event, Access access, bool is_lock) {
  if (!is_lock) {
    // The recorder's mark of a new block is not an atomic access of the program.
    const auto block = allocated_.find(event.thread);
    if (block != allocated_.end() && block->second.address == event.address &&
        block->second.site == event.site)
      return;
  }
  std::vector<Entry>& entries = objects_[{is_lock, event.address}];
  Entry* own = nullptr;
  for (Entry& entry : entries) {
    if (entry.thread == event.thread) {
      if (entry.site == event.site && entry.access == access) own = &entry;
      continue;
    }
    if (!changes(entry.access) && !changes(access)) continue;
    if (clocks_.clock(event.thread).covers(order::Epoch{entry.thread, entry.tick})) continue;
    RacyPair* const pair = pairs_.record(entry.site, event.site);
    if (pair == nullptr) continue;
    pair->first = {entry.site, entry.access, entry.thread, event.address,
                   entry.size, {},           entry.number, {}};
    pair->second = {event.site, access, event.thread, event.address, event.size, {}, number_, {}};
  }
  if (own != nullptr) {
    own->tick = clocks_.tick(event.thread);
    own->number = number_;
  } else if (entries.size() < kMostEntries) {
    entries.push_back(
        {event.site, event.thread, access, clocks_.tick(event.thread), number_, event.size});
  } else {
    ++dropped_;
  }
}

void Orders::add_counters(Counters& counters) const {
  clocks_.add_counters(counters);
  counters.push_back({"entries_dropped", dropped_,
                      "visits to a lock or atomic word were checked but not remembered: it had too "
                      "many visitors",
                      true});
  counters.push_back({"pairs_dropped", pairs_.dropped(),
                      "pairs of sites past the limit on pairs were not kept", true});
  counters.push_back({"events_of_untracked_threads", untracked_,
                      "events of threads past the limit on threads were skipped", true});
}

}  // namespace deadheat::analysis
