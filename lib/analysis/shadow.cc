#include "lib/analysis/shadow.h"

#include <algorithm>
#include <memory>

namespace deadheat::analysis {

// A small block is filled from the front; a big one by hash. The caller made room.
void Shadow::place(Cell& cell, const Entry& entry, bool by_lockset) {
  if (entry.mask() != 0xff) cell.has_partial = 1;
  if (cell.used < 2) {
    cell.inline_entries[cell.used] = entry;
    cell.used = static_cast<uint8_t>(cell.used + 1) & 3U;
    return;
  }
  Entry* const block = entries(cell.overflow);
  uint32_t at = cell.count;
  if (cell.size_class >= kHashedFrom) {
    const uint32_t size = capacity(cell.size_class);
    at = home(entry.key, entry.lockset, by_lockset, cell.size_class);
    while (block[at].tick != 0) at = (at + 1) & (size - 1);
  }
  block[at] = entry;
  ++cell.count;
}

bool Shadow::add(Cell& cell, const Entry& entry, bool by_lockset) {
  if (cell.used == 2) {
    const uint32_t room = cell.size_class == 0 ? 0 : capacity(cell.size_class);
    // A hash table keeps a quarter free so that probes end.
    const uint32_t usable = cell.size_class >= kHashedFrom ? room - room / 4 : room;
    if (cell.count >= usable && !grow(cell, by_lockset)) return false;
  }
  place(cell, entry, by_lockset);
  return true;
}

bool Shadow::grow(Cell& cell, bool by_lockset) {
  const auto bigger = static_cast<uint8_t>(cell.size_class + 1);
  uint32_t block = 0;
  if (bigger >= 15 || !allocate(bigger, block)) return false;  // count has 16 bits
  const uint8_t old_class = cell.size_class;
  const uint32_t old_block = cell.overflow;
  cell.size_class = bigger;
  cell.overflow = block;
  cell.count = 0;
  if (old_class == 0) return true;
  for (uint32_t i = 0; i < capacity(old_class); ++i)
    if (entries(old_block)[i].tick != 0) place(cell, entries(old_block)[i], by_lockset);
  release(old_class, old_block);
  return true;
}

void Shadow::rebuild(Cell& cell, const std::vector<Entry>& kept, bool by_lockset) {
  cell.used = 0;
  cell.inline_entries[0] = cell.inline_entries[1] = Entry{};
  cell.count = 0;
  if (cell.size_class != 0) std::fill_n(entries(cell.overflow), capacity(cell.size_class), Entry{});
  for (const Entry& entry : kept) place(cell, entry, by_lockset);
}

bool Shadow::allocate(uint8_t size_class, uint32_t& block) {
  const uint32_t size = capacity(size_class), blocks = size / 2;
  const uint64_t bytes = size * sizeof(Entry);
  if (!free_[size_class].empty()) {
    block = free_[size_class].back();
    free_[size_class].pop_back();
  } else {
    if (memory_ + bytes > memory_limit_) return false;
    const uint32_t used = next_block_ % kBlocksPerSlab;
    if (used == 0 || kBlocksPerSlab - used < blocks) {  // blocks do not cross slabs
      const auto slab = static_cast<uint32_t>(entry_slabs_.count());
      if (entry_slabs_.add() == nullptr) return false;
      next_block_ = slab * kBlocksPerSlab;
    }
    memory_ += bytes;
    block = next_block_;
    next_block_ += blocks;
  }
  std::fill_n(entries(block), size, Entry{});
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
      Entry* const last = cell.used > 0 ? &cell.inline_entries[cell.used - 1] : nullptr;
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
