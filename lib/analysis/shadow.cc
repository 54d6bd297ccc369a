#include "lib/analysis/shadow.h"

#include <algorithm>

namespace deadheat::analysis {

Entry* Shadow::find_overflow(Cell& cell, uint32_t who, uint32_t site, LocksetId lockset,
                             bool by_lockset) {
  Entry* const block = entries(cell.overflow);
  const uint32_t size = capacity(cell.size_class);
  if (cell.size_class < kHashedFrom) {
    for (uint32_t i = 0; i < cell.count; ++i)
      if (is(block[i], who, site, lockset, by_lockset)) return &block[i];
    return nullptr;
  }
  for (uint32_t at = hash(who, site, lockset, by_lockset) & (size - 1); block[at].tick != 0;
       at = (at + 1) & (size - 1))
    if (is(block[at], who, site, lockset, by_lockset)) return &block[at];
  return nullptr;
}

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
    at = hash(entry.who, entry.site, entry.lockset, by_lockset) & (size - 1);
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
  cell.count = 0;
  if (cell.size_class != 0) std::fill_n(entries(cell.overflow), capacity(cell.size_class), Entry{});
  for (const Entry& entry : kept) place(cell, entry, by_lockset);
}

bool Shadow::allocate(uint8_t size_class, uint32_t& block) {
  const uint32_t size = capacity(size_class), blocks = size / 2;
  if (!free_[size_class].empty()) {
    block = free_[size_class].back();
    free_[size_class].pop_back();
  } else {
    const uint32_t left =
        next_block_ % kBlocksPerSlab == 0 ? 0 : kBlocksPerSlab - next_block_ % kBlocksPerSlab;
    if (left < blocks) {  // blocks do not cross slabs; the rest of this one stays unused
      const uint64_t bytes = kBlocksPerSlab * 2 * sizeof(Entry);
      if (memory_ + bytes > memory_limit_) return false;
      slabs_.push_back(std::make_unique<Entry[]>(static_cast<size_t>(kBlocksPerSlab) * 2));
      memory_ += bytes;
      next_block_ = static_cast<uint32_t>((slabs_.size() - 1) * kBlocksPerSlab);
    }
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
    index = page_ids_.insert(page).first;
    pages_.push_back(std::make_unique<Cell[]>(kCellsPerPage));
    memory_ += bytes;
    if (!freed_.empty()) seed_freed(page, pages_[index].get());
  }
  return pages_[index].get();
}

void Shadow::seed_freed(uint64_t page, Cell* cells) {
  const uint64_t begin = page * kPageBytes, end = begin + kPageBytes;
  auto at = freed_.upper_bound(begin);
  if (at != freed_.begin()) --at;
  for (; at != freed_.end() && at->first < end; ++at) {
    for (uint64_t byte = std::max(at->first, begin); byte < std::min(at->second.end, end); ++byte) {
      Cell& cell = cells[(byte - begin) / kGranule];
      Entry entry = at->second.entry;
      entry.who |= 1U << (byte % kGranule);
      if (cell.used > 0 &&
          (cell.inline_entries[cell.used - 1].who & ~255U) == (entry.who & ~255U) &&
          cell.inline_entries[cell.used - 1].site == entry.site &&
          cell.inline_entries[cell.used - 1].tick == entry.tick) {
        cell.inline_entries[cell.used - 1].who |= entry.who;
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
