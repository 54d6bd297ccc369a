// Shadow: for every granule of 8 bytes the last access per thread, site, kind, byte mask (and
// lockset, where the engine asks for it). Keeping only the last is exact for reporting racy pairs
// of sites: an earlier one of the same key is ordered before it by program order, so whatever races
// with the earlier one in the future races with it too.
//
// A cell is one cache line: two summary epochs that let most accesses pass without looking at the
// entries, and the first two entries; further ones live in an overflow block that becomes a hash
// table when it is long, so that a location touched by hundreds of threads and sites costs the same
// to update.
//
// Memory is bounded: past the limit a location without a cell stays without one, and its accesses
// are counted.
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

// Who accessed from where: site << 32 | thread << 12 | kind << 8 | byte mask. One compare tells
// entries apart.
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
  // Every write entry is known to who covers `writes`; every entry to who covers `all`. Tick ~0:
  // nobody does.
  order::Epoch writes, all;
  // Hybrid: locks held at every write, at every access so far.
  LocksetId common_writes = kAllLocks, common_all = kAllLocks;
  uint32_t overflow = 0;        // block in the pool
  uint16_t count = 0;           // entries beyond the two inline ones
  uint8_t size_class = 0;       // overflow capacity is 2 << size_class; 0: none
  uint8_t used : 2 = 0;         // inline entries in use: 0, 1, 2
  uint8_t has_partial : 1 = 0;  // some entry does not cover the whole granule
  Entry inline_entries[2];

  // Back to a cell without history; its overflow block, if any, stays for reuse.
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

  // The cell of the granule, created if there is room; nullptr past the memory limit.
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
  // Start loading the cell's cache line, then (once that has arrived) the slot of a key in a long
  // history. Nothing happens where the page is not known yet.
  void prefetch(uint64_t granule) const {
    if (const Cell* const cell = peek(granule)) __builtin_prefetch(cell, 1);
  }
  void prefetch_slot(uint64_t granule, EntryKey key) const {
    const Cell* const cell = peek(granule);
    if (cell == nullptr || cell->size_class == 0) return;
    const Entry* const block = entries(cell->overflow);
    const bool hashed = cell->size_class >= kHashedFrom;
    __builtin_prefetch(hashed ? block + home(key, kNoLocks, false, cell->size_class) : block, 1);
  }

  // f(entry) for every entry of the cell; the entry may be changed, not added or removed.
  template <typename F>
  void for_each(Cell& cell, F f) {
    for (uint8_t i = 0; i < cell.used; ++i) f(cell.inline_entries[i]);
    if (cell.size_class == 0) return;
    Entry* const block = entries(cell.overflow);
    for (uint32_t i = 0; i < capacity(cell.size_class); ++i)
      if (block[i].tick != 0) f(block[i]);
  }

  // The entry with this key, or nullptr. The lockset is part of the key only if kByLockset.
  template <bool kByLockset>
  Entry* find(Cell& cell, EntryKey key, LocksetId lockset) {
    const auto is = [&](const Entry& e) {
      return e.key == key && (!kByLockset || e.lockset == lockset);
    };
    // Unused inline entries have key 0, which no access has: masks are not empty.
    if (is(cell.inline_entries[0])) return &cell.inline_entries[0];
    if (is(cell.inline_entries[1])) return &cell.inline_entries[1];
    if (cell.size_class == 0) return nullptr;
    Entry* const block = entries(cell.overflow);
    if (cell.size_class < kHashedFrom) {
      for (uint32_t i = 0; i < cell.count; ++i)
        if (is(block[i])) return &block[i];
      return nullptr;
    }
    const uint32_t last = capacity(cell.size_class) - 1;
    for (uint32_t at = home(key, lockset, kByLockset, cell.size_class); block[at].tick != 0;
         at = (at + 1) & last)
      if (is(block[at])) return &block[at];
    return nullptr;
  }
  // Adds an entry whose key is not there. False when there is no memory for it.
  bool add(Cell& cell, const Entry& entry, bool by_lockset);
  // Takes the bytes of `mask` away from every entry that `matches(entry)`.
  template <typename F>
  void strip(Cell& cell, uint8_t mask, bool by_lockset, F matches);

  // Every existing cell of the granules [first, last], without creating any: f(granule, cell).
  template <typename F>
  void for_each_cell(uint64_t first, uint64_t last, F f);

  // The bytes were freed by this access: cells made later start with it. forget_freed: they were
  // allocated again.
  void remember_freed(uint64_t begin, uint64_t end, const Entry& freed);
  void forget_freed(uint64_t begin, uint64_t end);

  uint64_t memory() const { return memory_; }

 private:
  const Cell* peek(uint64_t granule) const {
    const uint64_t page = granule / kCellsPerPage;
    const Cached& cached = cache_[page % kCacheLines];
    return cached.page == page && cached.cells != nullptr ? cached.cells + granule % kCellsPerPage
                                                          : nullptr;
  }

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
      4;  // size class from which an overflow block is a hash table
  static constexpr uint32_t kBlocksPerSlab = Slabs::kSlabBytes / (2 * sizeof(Entry));
  static constexpr size_t kPagesPerSlab = Slabs::kSlabBytes / (kCellsPerPage * sizeof(Cell));

  static uint32_t capacity(uint8_t size_class) { return 2U << size_class; }
  // The slot of a hashed block where the search for a key starts.
  static uint32_t home(EntryKey key, LocksetId lockset, bool by_lockset, uint8_t size_class) {
    uint64_t h = key * 0x9e3779b97f4a7c15ULL;
    if (by_lockset) h = (h ^ lockset) * 0xd6e8feb86659fd93ULL;
    return static_cast<uint32_t>(h >> (63 - size_class));  // the top bits depend on all of the key
  }
  Entry* entries(uint32_t block) const {
    return static_cast<Entry*>(entry_slabs_.piece(block / kBlocksPerSlab)) +
           static_cast<size_t>(block % kBlocksPerSlab) * 2;
  }
  Cell* find_page(uint64_t page);
  void seed_freed(uint64_t page, Cell* cells);
  bool allocate(uint8_t size_class, uint32_t& block);
  void release(uint8_t size_class, uint32_t block) { free_[size_class].push_back(block); }
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
  uint32_t next_block_ = 0;
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
  } else {  // a huge range: the pages that exist are fewer
    page_ids_.for_each([&](uint64_t page, uint32_t index) {
      if (page >= first_page && page <= last_page) visit(page, index);
    });
  }
}

}  // namespace deadheat::analysis
