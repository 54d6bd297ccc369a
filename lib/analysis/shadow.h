// Shadow: for every granule of 8 bytes the last access per thread, site, kind, byte mask (and
// lockset, if the engine requires it). Keeping only the last is exact for reporting racy pairs of
// sites: an earlier one with the same key is ordered before it by program order, so whatever later
// races with the earlier one races with it too.
//
// A cell is one cache line: two summary epochs that let most accesses pass without checking the
// entries, and up to two entries. A longer history moves to a hash table of buckets, each a cache
// line that is compared as a whole without branches, so that a location touched by hundreds of
// threads and sites costs the same to update.
//
// Memory is bounded: beyond the limit a location without a cell gets none, and its accesses are
// counted.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "lib/analysis/engine.h"
#include "lib/analysis/lockset_table.h"
#include "lib/analysis/slab.h"
#include "lib/base/flat_index.h"
#include "lib/order/vector_clock.h"

namespace deadheat::analysis {

// Thread, site and access: site << 32 thread << 12 kind << 8 byte mask. One compare distinguishes
// entries.
using EntryKey = uint64_t;

inline EntryKey entry_key(uint32_t thread, Access access, uint8_t mask, uint32_t site) {
  return static_cast<uint64_t>(site) << 32 | thread << 12 | static_cast<uint32_t>(access) << 8 |
         mask;
}

struct Entry {
  order::Tick tick = 0;  // 0: an empty slot
  LocksetId lockset = kNoLocks;
  EntryKey key = 0;

  uint32_t site() const { return static_cast<uint32_t>(key >> 32); }
  uint32_t thread() const { return static_cast<uint32_t>(key) >> 12; }
  Access access() const { return static_cast<Access>((key >> 8) & 15U); }
  uint8_t mask() const { return static_cast<uint8_t>(key); }
  order::Epoch epoch() const { return {thread(), tick}; }
};
static_assert(sizeof(Entry) == 16);

inline bool writes(Access access) {
  return access == Access::kWrite || access == Access::kAtomicWrite || access == Access::kFree;
}
inline bool atomic(Access access) {
  return access == Access::kAtomicRead || access == Access::kAtomicWrite;
}
inline bool conflict(Access a, Access b) {
  return (writes(a) || writes(b)) && !(atomic(a) && atomic(b));
}

struct alignas(64) Cell {
  // A thread that covers `writes` knows every write entry; one that covers `all` knows every entry.
  // Tick ~0: no thread does.
  order::Epoch writes, all;
  // Hybrid: locks held at every write, at every access so far.
  LocksetId common_writes = kAllLocks, common_all = kAllLocks;
  uint32_t table = 0;       // size_class > 0: the block that holds all entries
  uint16_t count = 0;       // entries
  uint8_t size_class = 0;   // 0: entries are inline; else a table of 1 << (size_class - 1) buckets
  uint8_t has_partial = 0;  // some entry does not cover the whole granule
  Entry inline_entries[2];

  // Returns to a cell without history; its table, if any, stays for reuse.
  void forget() {
    writes = all = order::Epoch{};
    common_writes = common_all = kAllLocks;
    has_partial = 0;
  }
};
static_assert(sizeof(Cell) == 64);

class Shadow {
 public:
  explicit Shadow(uint64_t memory_limit) : memory_limit_(memory_limit) {}

  static constexpr uint64_t kGranule = 8;
  static constexpr uint64_t kCellsPerPage = 64;
  static constexpr uint64_t kPageBytes = kGranule * kCellsPerPage;

  // The cell of the granule, created if there is room; nullptr beyond the memory limit.
  Cell* cell(uint64_t granule) {
    const uint64_t page = granule / kCellsPerPage;
    Cached& cached = cache_[page % kCacheLines];
    if (cached.page != page || cached.cells == nullptr) {
      Cell* const cells = find_page(page);
      if (cells == nullptr) return nullptr;
      cached = {page, cells};
    }
    return cached.cells + granule % kCellsPerPage;
  }
  // The cell if its page was used recently, prefetching its cache line; otherwise nullptr.
  Cell* prefetch(uint64_t granule) const {
    const uint64_t page = granule / kCellsPerPage;
    const Cached& cached = cache_[page % kCacheLines];
    if (cached.page != page || cached.cells == nullptr) return nullptr;
    Cell* const cell = cached.cells + granule % kCellsPerPage;
    __builtin_prefetch(cell, 1);
    return cell;
  }
  // Once the cell has arrived: prefetches the bucket of a key in a long history. Always inline: GCC
  // considers a function that only prefetches to be without effect and drops the call.
  [[gnu::always_inline]] void prefetch_bucket(const Cell& cell, EntryKey key) const {
    if (cell.size_class == 0) return;
    __builtin_prefetch(entries(cell.table) + home(key, kNoLocks, false, cell.size_class), 1);
  }

  // f(entry) for every entry of the cell; the entry may be changed, but not added or removed.
  template <typename F>
  void for_each(Cell& cell, F f) {
    Entry* const all = cell.size_class == 0 ? cell.inline_entries : entries(cell.table);
    const uint32_t slots = cell.size_class == 0 ? cell.count : capacity(cell.size_class);
    for (uint32_t i = 0; i < slots; ++i)
      if (all[i].tick != 0) f(all[i]);
  }

  // The entry with this key, or nullptr. The lockset is part of the key only if kByLockset.
  template <bool kByLockset>
  Entry* find(Cell& cell, EntryKey key, LocksetId lockset) {
    // Unused entries have key 0, which no access has: masks are never empty.
    const auto is = [&](const Entry& e) -> unsigned {
      return static_cast<unsigned>(e.key == key) &
             static_cast<unsigned>(!kByLockset || e.lockset == lockset);
    };
    if (cell.size_class == 0) {
      const unsigned found = is(cell.inline_entries[0]) | is(cell.inline_entries[1]) << 1;
      return found == 0 ? nullptr : &cell.inline_entries[found >> 1];
    }
    Entry* const table = entries(cell.table);
    const uint32_t last = capacity(cell.size_class) - 1;
    for (uint32_t at = home(key, lockset, kByLockset, cell.size_class);;
         at = (at + kBucket) & last) {
      Entry* const bucket = table + at;
      const unsigned found =
          is(bucket[0]) | is(bucket[1]) << 1 | is(bucket[2]) << 2 | is(bucket[3]) << 3;
      if (found != 0) return bucket + __builtin_ctz(found);
      if (bucket[kBucket - 1].tick == 0) return nullptr;  // buckets fill from the front
    }
  }
  // Adds an entry with a new key. False if there is no memory for it.
  bool add(Cell& cell, const Entry& entry, bool by_lockset);
  // Removes the bytes of `mask` from every entry that `matches(entry)`.
  template <typename F>
  void strip(Cell& cell, uint8_t mask, bool by_lockset, F matches);

  // Every existing cell of the granules [first, last], without creating any: f(granule, cell).
  template <typename F>
  void for_each_cell(uint64_t first, uint64_t last, F f);

  // This access freed the bytes: cells created later start with it. forget_freed: they were
  // allocated again.
  void remember_freed(uint64_t begin, uint64_t end, const Entry& freed);
  void forget_freed(uint64_t begin, uint64_t end);

  uint64_t memory() const { return memory_; }

 private:
  struct Cached {
    uint64_t page = 0;
    Cell* cells = nullptr;
  };
  struct Freed {
    uint64_t end;
    Entry entry;
  };
  static constexpr size_t kCacheLines = 4096;
  static constexpr uint32_t kHashedFrom =
      4;                                  // size class from which an overflow block is a hash table
  static constexpr uint32_t kBucket = 4;  // entries
  static constexpr uint8_t kMaxSizeClass = 14;  // 32,768 entries: count has 16 bits
  static constexpr uint32_t kBucketsPerSlab = Slabs::kSlabBytes / (kBucket * sizeof(Entry));
  static constexpr size_t kPagesPerSlab = Slabs::kSlabBytes / (kCellsPerPage * sizeof(Cell));

  static uint32_t capacity(uint8_t size_class) { return kBucket << (size_class - 1); }
  // The first entry of the bucket at which the search for a key starts.
  static uint32_t home(EntryKey key, LocksetId lockset, bool by_lockset, uint8_t size_class) {
    uint64_t h = key * 0x9e3779b97f4a7c15ULL;
    if (by_lockset) h = (h ^ lockset) * 0xd6e8feb86659fd93ULL;
    // The top bits depend on the whole key. Shifted in two steps: one bucket needs no bits at all.
    return static_cast<uint32_t>(h >> 1 >> (64 - size_class)) * kBucket;
  }
  Entry* entries(uint32_t bucket) const {
    return static_cast<Entry*>(entry_slabs_.piece(bucket / kBucketsPerSlab)) +
           static_cast<size_t>(bucket % kBucketsPerSlab) * kBucket;
  }
  Cell* find_page(uint64_t page);
  void seed_freed(uint64_t page, Cell* cells);
  bool allocate(uint8_t size_class, uint32_t& table);
  bool grow(Cell& cell, bool by_lockset);
  void place(Cell& cell, const Entry& entry, bool by_lockset);
  void rebuild(Cell& cell, const std::vector<Entry>& kept, bool by_lockset);

  uint64_t memory_limit_;
  uint64_t memory_ = 0;
  FlatIndex page_ids_;
  std::vector<Cell*> pages_;  // in cell_slabs_
  Slabs cell_slabs_;
  std::vector<Cached> cache_ = std::vector<Cached>(kCacheLines);
  Slabs entry_slabs_;
  uint32_t next_bucket_ = 0;
  std::vector<uint32_t> free_[24];
  std::map<uint64_t, Freed> freed_;  // by begin; disjoint
};

template <typename F>
void Shadow::strip(Cell& cell, uint8_t mask, bool by_lockset, F matches) {
  bool any = false;
  for_each(cell, [&](const Entry& e) { any = any || ((e.mask() & mask) != 0 && matches(e)); });
  if (!any) return;
  std::vector<Entry> kept;
  for_each(cell, [&](const Entry& e) {
    Entry rest = e;
    if (matches(e)) rest.key &= ~static_cast<EntryKey>(mask);
    if (rest.mask() != 0) kept.push_back(rest);
  });
  rebuild(cell, kept, by_lockset);
}

template <typename F>
void Shadow::for_each_cell(uint64_t first, uint64_t last, F f) {
  const uint64_t first_page = first / kCellsPerPage, last_page = last / kCellsPerPage;
  const auto visit = [&](uint64_t page, uint32_t index) {
    for (uint64_t i = 0; i < kCellsPerPage; ++i) {
      const uint64_t granule = page * kCellsPerPage + i;
      if (granule >= first && granule <= last) f(granule, pages_[index][i]);
    }
  };
  if (last_page - first_page < page_ids_.size()) {
    for (uint64_t page = first_page; page <= last_page; ++page) {
      const uint32_t index = page_ids_.find(page);
      if (index != FlatIndex::kAbsent) visit(page, index);
    }
  } else {  // a huge range: fewer pages exist
    page_ids_.for_each([&](uint64_t page, uint32_t index) {
      if (page >= first_page && page <= last_page) visit(page, index);
    });
  }
}

}  // namespace deadheat::analysis
