#include "lib/analysis/detector.h"

#include <algorithm>

namespace deadheat::analysis {

using order::Epoch;
using order::Tick;
using order::VectorClock;
using trace::Event;
using trace::EventKind;
using trace::MemoryOrder;
using trace::ThreadId;

namespace {

constexpr Epoch kNobody{0, ~Tick{0}};

Access access_of(const Event& event) {
  if (event.kind == EventKind::kFree) return Access::kFree;
  if (event.kind == EventKind::kReadModifyWrite) return Access::kAtomicWrite;
  const bool is_atomic = event.order != MemoryOrder::kPlain;
  if (event.kind == EventKind::kWrite) return is_atomic ? Access::kAtomicWrite : Access::kWrite;
  return is_atomic ? Access::kAtomicRead : Access::kRead;
}

// The bytes of the granule covered by [begin, end).
uint8_t mask_of(uint64_t granule, uint64_t begin, uint64_t end) {
  const uint64_t base = granule * Shadow::kGranule;
  const uint64_t first = begin > base ? begin - base : 0;
  const uint64_t last = std::min(end - base, Shadow::kGranule);
  return static_cast<uint8_t>((0xffU << first) & (0xffU >> (Shadow::kGranule - last)));
}

}  // namespace

template <Mode kMode>
void Detector<kMode>::access(const Event& event, uint64_t number) {
  if (event.kind == EventKind::kAlloc) return allocate(event);
  if (event.kind == EventKind::kFree) return free(event, number);
  const bool is_atomic =
      event.order != MemoryOrder::kPlain || event.kind == EventKind::kReadModifyWrite;
  if (is_atomic) clocks_.atomic_acquire(event);
  if (!kByLockset || !is_fresh_mark(event)) check_range(event, access_of(event), number);
  if (is_atomic) clocks_.atomic_release(event);
}

// The recorder's mark of a new block. A candidate there would make a thread wait before the
// allocation, when there is no block yet.
template <Mode kMode>
bool Detector<kMode>::is_fresh_mark(const Event& event) const {
  if (event.kind != EventKind::kWrite || event.order != MemoryOrder::kRelaxed) return false;
  const auto block = allocated_.find(event.thread);
  return block != allocated_.end() && block->second.address == event.address &&
         block->second.site == event.site;
}

template <Mode kMode>
void Detector<kMode>::plain_access(const Event& event, Cell* located, uint64_t number) {
  if (kMode == Mode::kSchedulable) return access(event, number);
  const uint64_t granule = event.address / Shadow::kGranule;
  Cell* const cell = located != nullptr ? located : shadow_.cell(granule);
  if (cell == nullptr) {
    ++accesses_untracked_;
    return;
  }
  check(*cell, granule, simple_mask(event), simple_kind(event), event, number);
}

template <Mode kMode>
uint64_t Detector<kMode>::clipped_end(const Event& event) {
  const uint64_t room =
      ~0ULL - event.address;  // the last byte of the address space never belongs to an object
  const uint64_t size = std::min({event.size, kMaxBytes, room});
  bytes_clipped_ += event.size - size;
  return event.address + size;
}

template <Mode kMode>
void Detector<kMode>::check_range(const Event& event, Access access, uint64_t number) {
  if (event.size == 0) return;
  const uint64_t end = clipped_end(event);
  if (end == event.address) return;
  const uint64_t first = event.address / Shadow::kGranule, last = (end - 1) / Shadow::kGranule;
  for (uint64_t granule = first; granule <= last; ++granule) {
    Cell* const cell = shadow_.cell(granule);
    if (cell == nullptr) {
      ++accesses_untracked_;
      return;
    }
    if (kMode == Mode::kHappensBefore && atomic(access)) unordered_granules_.insert(granule);
    check(*cell, granule, mask_of(granule, event.address, end), access, event, number);
  }
  if constexpr (kMode == Mode::kSchedulable) {
    if (!writes(access) || event.kind == EventKind::kReadModifyWrite) {
      for (uint64_t granule = first; granule <= last; ++granule)
        read_from(granule, mask_of(granule, event.address, end), event.thread);
    }
    if (writes(access)) {
      for (uint64_t granule = first; granule <= last; ++granule)
        wrote(granule, mask_of(granule, event.address, end), event.thread);
      clocks_.advance(event.thread);
    }
  }
}

template <Mode kMode>
void Detector<kMode>::check(Cell& cell, uint64_t granule, uint8_t mask, Access access,
                            const Event& event, uint64_t number) {
  const ThreadId thread = event.thread;
  const Tick tick = clocks_.tick(thread);
  const LocksetId lockset = clocks_.lockset(thread);
  const EntryKey key = entry_key(thread, access, mask, event.site);
  Entry* const mine = shadow_.template find<kByLockset>(cell, key, lockset);
  // Same tick: nothing was published since, so no other access can be ordered after that one but
  // not after this one.
  if (mine != nullptr && mine->tick == tick) return;

  const VectorClock& clock = clocks_.clock(thread);
  const Epoch now{thread, tick};
  const bool is_write = writes(access);
  const bool covers_all = clock.covers(cell.all);
  if (covers_all) {
    cell.all = now;
    if (is_write) cell.writes = now;
  } else if (is_write || !clock.covers(cell.writes)) {
    bool is_protected = false;
    if constexpr (kByLockset)
      is_protected =
          clocks_.locksets().protects(is_write ? cell.common_all : cell.common_writes, lockset);
    if (is_protected) {
      cell.all = kNobody;
      if (is_write) cell.writes = kNobody;
    } else {
      scan(cell, granule, mask, access, event, number);
    }
  } else {
    cell.all = kNobody;  // a read concurrent with reads that it does not cover
  }
  if constexpr (kByLockset) summarise_locks(cell, access, lockset);
  if (mine != nullptr) {
    mine->tick = tick;
    mine->lockset = lockset;
    return;
  }
  insert(cell, Entry{tick, lockset, key});
}

// The slow path: checks every entry, reports, and finds out whether this access covers them.
template <Mode kMode>
void Detector<kMode>::scan(Cell& cell, uint64_t granule, uint8_t mask, Access access,
                           const Event& event, uint64_t number) {
  const VectorClock& clock = clocks_.clock(event.thread);
  bool covers_all = true, covers_writes = true;
  shadow_.for_each(cell, [&](const Entry& earlier) {
    if (earlier.thread() == event.thread || clock.covers(earlier.epoch())) return;
    covers_all = false;
    if (writes(earlier.access())) covers_writes = false;
    if ((earlier.mask() & mask) == 0 || !conflict(earlier.access(), access)) return;
    if constexpr (kByLockset) {
      if (clocks_.locksets().protects(earlier.lockset, clocks_.lockset(event.thread))) return;
    }
    if (kMode == Mode::kHappensBefore) unordered_granules_.insert(granule);
    report(earlier, access, event, number);
  });
  const Epoch now{event.thread, clocks_.tick(event.thread)};
  cell.all = covers_all ? now : kNobody;
  cell.writes = covers_writes ? now : kNobody;
}

template <Mode kMode>
void Detector<kMode>::summarise_locks(Cell& cell, Access access, LocksetId lockset) {
  LocksetTable& locksets = clocks_.locksets();
  cell.common_all = locksets.intersect(cell.common_all, lockset);
  if (writes(access)) cell.common_writes = locksets.intersect(cell.common_writes, lockset);
}

template <Mode kMode>
void Detector<kMode>::insert(Cell& cell, const Entry& entry) {
  // The same thread, site and kind on other bytes of the granule: where they overlap, the new
  // access is the last.
  const auto same_source = [&](const Entry& e) {
    return e.key >> 8 == entry.key >> 8 && (!kByLockset || e.lockset == entry.lockset);
  };
  // Without partial masks there is nothing to overlap: an equal mask would have been found.
  if (cell.has_partial || entry.mask() != 0xff)
    shadow_.strip(cell, entry.mask(), kByLockset, same_source);
  if (!shadow_.add(cell, entry, kByLockset)) ++entries_dropped_;
}

template <Mode kMode>
std::vector<uint64_t> Detector<kMode>::lock_addresses(LocksetId set) {
  std::vector<uint64_t> addresses;
  for (const order::MarkedLock lock : clocks_.locksets().locks(set))
    addresses.push_back(clocks_.lock_address(static_cast<uint32_t>(order::lock_of(lock))));
  std::sort(addresses.begin(), addresses.end());
  return addresses;
}

template <Mode kMode>
void Detector<kMode>::report(const Entry& earlier, Access access, const Event& event,
                             uint64_t number) {
  RacyPair* const pair = pairs_.record(earlier.site(), event.site);
  if (pair == nullptr) return;
  pair->first.site = earlier.site();
  pair->first.access = earlier.access();
  pair->first.thread = earlier.thread();
  pair->first.address = event.address;
  pair->first.size = static_cast<uint64_t>(__builtin_popcount(earlier.mask()));
  pair->first.locks = lock_addresses(earlier.lockset);
  pair->second.site = event.site;
  pair->second.access = access;
  pair->second.thread = event.thread;
  pair->second.address = event.address;
  pair->second.size = event.size;
  pair->second.locks = lock_addresses(clocks_.lockset(event.thread));
  pair->second.event = number;
}

template <Mode kMode>
bool Detector<kMode>::matters(const Event& event, const FlatIndex& unordered_granules) {
  constexpr uint64_t kLooked = 64;  // granules; looking up a wider access does not pay off
  if (event.kind == EventKind::kAlloc || event.kind == EventKind::kFree || event.size == 0)
    return true;
  const uint64_t first = event.address / Shadow::kGranule;
  const uint64_t count = (event.address % Shadow::kGranule + event.size - 1) / Shadow::kGranule + 1;
  if (count > kLooked) return true;
  for (uint64_t i = 0; i < count; ++i)
    if (unordered_granules.find(first + i) != FlatIndex::kAbsent) return true;
  return false;
}

// Whether an access may belong to the new block. Nothing in the cell shows that the bytes had an
// earlier owner: they were not freed. Then another thread's access that may have been later (it has
// released nothing since) was later: an access to a block that it obtained without synchronisation,
// merged too early. A reset (an allocation without a site) ends this uncertainty.
template <Mode kMode>
bool Detector<kMode>::may_be_of_the_new_block(Cell& cell, uint8_t mask, const Event& event) {
  if (!unplaced_ || event.site == trace::kNoSite) return false;
  bool freed = false;
  shadow_.for_each(cell, [&](const Entry& entry) {
    freed = freed || (entry.access() == Access::kFree && (entry.mask() & mask) != 0);
  });
  return !freed;
}

template <Mode kMode>
void Detector<kMode>::allocate(const Event& event) {
  if (kByLockset) allocated_[event.thread] = event;
  const uint64_t end = clipped_end(event);
  if (end == event.address) return;
  shadow_.forget_freed(event.address, end);
  shadow_.for_each_cell(event.address / Shadow::kGranule, (end - 1) / Shadow::kGranule,
                        [&](uint64_t granule, Cell& cell) {
                          const uint8_t mask = mask_of(granule, event.address, end);
                          const bool keeps = may_be_of_the_new_block(cell, mask, event);
                          shadow_.strip(cell, mask, kByLockset, [&](const Entry& entry) {
                            return !keeps || entry.thread() == event.thread ||
                                   entry.tick != clocks_.tick(entry.thread());
                          });
                          if (cell.count == 0) cell.forget();
                          if constexpr (kMode == Mode::kSchedulable) {
                            const auto at = last_writes_.find(granule);
                            if (at != last_writes_.end())
                              std::erase_if(at->second, [&](LastWrite& w) {
                                return (w.mask &= static_cast<uint8_t>(~mask)) == 0;
                              });
                          }
                        });
}

// Freeing writes every byte; but a block of a gigabyte must not cost a gigabyte of cells, so only
// existing cells are written and the rest is remembered as a range.
template <Mode kMode>
void Detector<kMode>::free(const Event& event, uint64_t number) {
  const uint64_t end = clipped_end(event);
  if (end == event.address) return;
  const ThreadId thread = event.thread;
  shadow_.for_each_cell(event.address / Shadow::kGranule, (end - 1) / Shadow::kGranule,
                        [&](uint64_t granule, Cell& cell) {
                          check(cell, granule, mask_of(granule, event.address, end), Access::kFree,
                                event, number);
                        });
  const Entry freed{clocks_.tick(thread), clocks_.lockset(thread),
                    entry_key(thread, Access::kFree, 0, event.site)};
  shadow_.remember_freed(event.address, end, freed);
}

template <Mode kMode>
void Detector<kMode>::read_from(uint64_t granule, uint8_t mask, ThreadId thread) {
  const auto at = last_writes_.find(granule);
  if (at == last_writes_.end()) return;
  for (const LastWrite& write : at->second) {
    if ((write.mask & mask) == 0 || clocks_.clock(thread).covers(write.epoch)) continue;
    clocks_.join(thread, *write.clock);
    VectorClock own;
    own.set(write.epoch.thread, write.epoch.tick);
    clocks_.join(thread, own);
  }
}

template <Mode kMode>
void Detector<kMode>::wrote(uint64_t granule, uint8_t mask, ThreadId thread) {
  if (snapshots_.size() <= thread) snapshots_.resize(thread + 1);
  Snapshot& snapshot = snapshots_[thread];
  if (snapshot.version != clocks_.version(thread)) {
    auto copy = std::make_shared<VectorClock>();
    copy->assign(clocks_.clock(thread));
    snapshot = {clocks_.version(thread), std::move(copy)};
  }
  auto& writes = last_writes_[granule];
  std::erase_if(writes, [&](LastWrite& w) { return (w.mask &= static_cast<uint8_t>(~mask)) == 0; });
  writes.push_back({mask, Epoch{thread, clocks_.tick(thread)}, snapshot.clock});
}

template <Mode kMode>
void Detector<kMode>::add_counters(Counters& counters) const {
  counters.push_back({"accesses_untracked", accesses_untracked_,
                      "accesses to locations past the memory limit were not checked", true});
  counters.push_back({"entries_dropped", entries_dropped_,
                      "accesses were checked but not remembered: their location's history was full",
                      true});
  counters.push_back({"bytes_clipped", bytes_clipped_,
                      "bytes of accesses wider than 1 GiB were not checked", true});
  counters.push_back({"pairs_dropped", pairs_.dropped(),
                      "racy pairs of sites past the limit on pairs were not kept", true});
  counters.push_back(
      {"shadow_bytes", shadow_.memory(), "bytes of shadow memory in use at the end", false});
}

template class Detector<Mode::kHappensBefore>;
template class Detector<Mode::kHybrid>;
template class Detector<Mode::kSchedulable>;

}  // namespace deadheat::analysis
