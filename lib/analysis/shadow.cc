#include "lib/analysis/shadow.h"

#include <algorithm>
#include <memory>

namespace deadheat::analysis {

// The caller has made room.
void Shadow::place(Cell& cell, const Entry& entry, bool by_lockset) {
  if (entry.mask() != 0xff) cell.has_partial = 1;
  ++cell.count;
  if (cell.size_class == 0) {
    cell.inline_entries[cell.count - 1] = entry;
    return;
  }
  Entry* const table = entries(cell.table);
  const uint32_t last = capacity(cell.size_class) - 1;
  uint32_t at = home(entry.key, entry.lockset, by_lockset, cell.size_class);
  while (table[at].tick != 0) at = (at + 1) & last;
  table[at] = entry;
}

bool Shadow::add(Cell& cell, const Entry& entry, bool by_lockset) {
  // One bucket may be full; several keep a quarter free so that searches terminate.
  const uint32_t room = cell.size_class == 0 ? 2 : capacity(cell.size_class);
  const uint32_t usable = cell.size_class > 1    ? room - room / 4
                          : cell.size_class == 1 ? room - 1
                                                 : room;
  if (cell.count >= usable && !grow(cell, by_lockset)) return false;
  place(cell, entry, by_lockset);
  return true;
}

bool Shadow::grow(Cell& cell, bool by_lockset) {
  const auto bigger = static_cast<uint8_t>(cell.size_class + 1);
  uint32_t table = 0;
  if (bigger > kMaxSizeClass || !allocate(bigger, table)) return false;
  Cell old = cell;
  cell.inline_entries[0] = cell.inline_entries[1] = Entry{};
  cell.size_class = bigger;
  cell.table = table;
  cell.count = 0;
  for_each(old, [&](const Entry& entry) { place(cell, entry, by_lockset); });
  if (old.size_class > 0) free_[old.size_class].push_back(old.table);
  return true;
}

void Shadow::rebuild(Cell& cell, const std::vector<Entry>& kept, bool by_lockset) {
  cell.count = 0;
  cell.inline_entries[0] = cell.inline_entries[1] = Entry{};
  if (cell.size_class != 0) std::fill_n(entries(cell.table), capacity(cell.size_class), Entry{});
  for (const Entry& entry : kept) place(cell, entry, by_lockset);
}

bool Shadow::allocate(uint8_t size_class, uint32_t& table) {
  const uint32_t size = capacity(size_class), buckets = size / kBucket;
  const uint64_t bytes = size * sizeof(Entry);
  if (!free_[size_class].empty()) {
    table = free_[size_class].back();
    free_[size_class].pop_back();
  } else {
    if (memory_ + bytes > memory_limit_) return false;
    const uint32_t used = next_bucket_ % kBucketsPerSlab;
    if (used == 0 || kBucketsPerSlab - used < buckets) {  // tables do not cross slabs
      const auto slab = static_cast<uint32_t>(entry_slabs_.count());
      if (entry_slabs_.add() == nullptr) return false;
      next_bucket_ = slab * kBucketsPerSlab;
    }
    memory_ += bytes;
    table = next_bucket_;
    next_bucket_ += buckets;
  }
  std::fill_n(entries(table), size, Entry{});
  return true;
}

Cell* Shadow::find_page(uint64_t page) {
  uint32_t index = page_ids_.find(page);
  if (index == FlatIndex::kAbsent) {
    const uint64_t bytes = kCellsPerPage * sizeof(Cell) + 32;
    if (memory_ + bytes > memory_limit_) return nullptr;
    const size_t at = pages_.size() % kPagesPerSlab;
    if (at == 0 && cell_slabs_.add() == nullptr) return nullptr;
    void* const slab = cell_slabs_.piece(cell_slabs_.count() - 1);
    Cell* const cells = static_cast<Cell*>(slab) + at * kCellsPerPage;
    std::uninitialized_default_construct_n(cells, kCellsPerPage);
    index = page_ids_.insert(page).first;
    pages_.push_back(cells);
    memory_ += bytes;
    if (!freed_.empty()) seed_freed(page, pages_[index]);
  }
  return pages_[index];
}

void Shadow::seed_freed(uint64_t page, Cell* cells) {
  const uint64_t begin = page * kPageBytes, end = begin + kPageBytes;
  auto at = freed_.upper_bound(begin);
  if (at != freed_.begin()) --at;
  for (; at != freed_.end() && at->first < end; ++at) {
    for (uint64_t byte = std::max(at->first, begin); byte < std::min(at->second.end, end); ++byte) {
      Cell& cell = cells[(byte - begin) / kGranule];
      Entry entry = at->second.entry;
      entry.key |= 1U << (byte % kGranule);
      Entry* const last =
          cell.size_class == 0 && cell.count > 0 ? &cell.inline_entries[cell.count - 1] : nullptr;
      if (last != nullptr && last->key >> 8 == entry.key >> 8 && last->tick == entry.tick) {
        last->key |= entry.key;
      } else {
        add(cell, entry, false);
      }
      cell.writes =
          cell.all = {0, ~order::Tick{0}};  // nobody is known to cover it: the next access looks
      cell.common_writes = cell.common_all = kNoLocks;
    }
  }
}

void Shadow::remember_freed(uint64_t begin, uint64_t end, const Entry& freed) {
  forget_freed(begin, end);
  freed_[begin] = {end, freed};
}

void Shadow::forget_freed(uint64_t begin, uint64_t end) {
  auto at = freed_.upper_bound(begin);
  if (at != freed_.begin()) --at;
  while (at != freed_.end() && at->first < end) {
    const uint64_t old_begin = at->first, old_end = at->second.end;
    const Entry entry = at->second.entry;
    if (old_end <= begin) {
      ++at;
      continue;
    }
    at = freed_.erase(at);
    if (old_begin < begin) freed_[old_begin] = {begin, entry};
    if (old_end > end) at = freed_.insert_or_assign(end, Freed{old_end, entry}).first;
    if (old_end > end) break;
  }
}

}  // namespace deadheat::analysis
