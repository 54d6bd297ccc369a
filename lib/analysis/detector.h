// Detector: checks every access against the entries of its location.
//
// Naive: compare with all earlier accesses to the location. Here: an access whose thread covers
// the location's summary epoch is ordered after all of them (or, for a read, after all writes)
// without a comparison. This is FastTrack's fast path for a detector that reports every racy pair
// of sites and so must keep more than the last write. naive_twin.h compares it with graph
// reachability.
//
// Modes: happens-before; hybrid (racefuzzer.txt 2.2: also disjoint locksets, and clocks without
// lock edges); and schedulable (SHB: a read is ordered after the write it read from, which
// identifies races that exist only because an earlier race steered the program there).
#pragma once

#include <memory>
#include <unordered_map>
#include <vector>

#include "lib/analysis/clocks.h"
#include "lib/analysis/pairs.h"
#include "lib/analysis/shadow.h"

namespace deadheat::analysis {

enum class Mode : uint8_t { kHappensBefore, kHybrid, kSchedulable };

template <Mode kMode>
class Detector {
 public:
  Detector(Clocks& clocks, const Options& options)
      : clocks_(clocks), shadow_(options.memory_limit), pairs_(options.max_pairs) {}
  // The trace does not say when a plain access was, only between which events of its thread.
  void expect_unplaced_accesses() { unplaced_ = true; }

  // Whether the schedulable mode needs this access, given what the happens-before mode noted.
  static bool matters(const trace::Event& event, const FlatIndex& unordered_granules);
  // An access, alloc or free by an admitted thread; `number` is the event's number from 1.
  void access(const trace::Event& event, uint64_t number);

  // Nearly all events of a trace are plain accesses inside one granule. Those take a short path in
  // three steps, a few events apart, because caches miss on most locations of a big trace: locate()
  // finds and prefetches the cell, approach() prefetches the bucket of its history, plain_access()
  // checks.
  static bool is_simple(const trace::Event& event) {
    return event.kind <= trace::EventKind::kWrite && event.order == trace::MemoryOrder::kPlain &&
           event.size - 1 < Shadow::kGranule - event.address % Shadow::kGranule;
  }
  Cell* locate(const trace::Event& event) const {
    return shadow_.prefetch(event.address / Shadow::kGranule);
  }
  [[gnu::always_inline]] void approach(const Cell& cell, const trace::Event& event) const {
    shadow_.prefetch_bucket(cell, simple_key(event));
  }
  // `located` is the result of locate(), or nullptr.
  void plain_access(const trace::Event& event, Cell* located, uint64_t number);

  PairSet& pairs() { return pairs_; }
  // Granules where reading can order beyond happens-before: racy ones, and those of atomics.
  // Elsewhere a read happens after the write it reads from anyway, so the schedulable mode may skip
  // all other accesses.
  FlatIndex& unordered_granules() { return unordered_granules_; }
  void add_counters(Counters& counters) const;

 private:
  static constexpr bool kByLockset = kMode == Mode::kHybrid;
  // Only the first bytes of a wider access are checked; no real access is that
  // wide.
  static constexpr uint64_t kMaxBytes = 1ULL << 30;

  // A granule's last writes (disjoint masks), for the schedulable mode.
  struct LastWrite {
    uint8_t mask;
    order::Epoch epoch;
    std::shared_ptr<const order::VectorClock> clock;
  };
  struct Snapshot {
    uint64_t version = ~0ULL;
    std::shared_ptr<const order::VectorClock> clock;
  };

  static uint8_t simple_mask(const trace::Event& event) {
    return static_cast<uint8_t>(((1U << event.size) - 1) << event.address % Shadow::kGranule);
  }
  static Access simple_kind(const trace::Event& event) {
    return event.kind == trace::EventKind::kRead ? Access::kRead : Access::kWrite;
  }
  static EntryKey simple_key(const trace::Event& event) {
    return entry_key(event.thread, simple_kind(event), simple_mask(event), event.site);
  }
  bool is_fresh_mark(const trace::Event& event) const;
  void check_range(const trace::Event& event, Access access, uint64_t number);
  void check(Cell& cell, uint64_t granule, uint8_t mask, Access access, const trace::Event& event,
             uint64_t number);
  void scan(Cell& cell, uint64_t granule, uint8_t mask, Access access, const trace::Event& event,
            uint64_t number);
  void insert(Cell& cell, const Entry& entry);
  void report(const Entry& earlier, Access access, const trace::Event& event, uint64_t number);
  void summarise_locks(Cell& cell, Access access, LocksetId lockset);
  void allocate(const trace::Event& event);
  bool may_be_of_the_new_block(Cell& cell, uint8_t mask, const trace::Event& event);
  void free(const trace::Event& event, uint64_t number);
  uint64_t clipped_end(const trace::Event& event);
  void read_from(uint64_t granule, uint8_t mask, trace::ThreadId thread);
  void wrote(uint64_t granule, uint8_t mask, trace::ThreadId thread);
  std::vector<uint64_t> lock_addresses(LocksetId set);

  Clocks& clocks_;
  Shadow shadow_;
  PairSet pairs_;
  FlatIndex unordered_granules_;
  bool unplaced_ = false;
  std::unordered_map<trace::ThreadId, trace::Event> allocated_;  // hybrid: each thread's last one
  std::unordered_map<uint64_t, std::vector<LastWrite>> last_writes_;
  std::vector<Snapshot> snapshots_;
  uint64_t accesses_untracked_ = 0, entries_dropped_ = 0, bytes_clipped_ = 0;
};

extern template class Detector<Mode::kHappensBefore>;
extern template class Detector<Mode::kHybrid>;
extern template class Detector<Mode::kSchedulable>;

}  // namespace deadheat::analysis
