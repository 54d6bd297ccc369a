// Slab: memory for many small blocks of one kind, allocated in 2 MiB pieces that the kernel may
// back with huge pages. Shadow accesses are scattered; with 4 KiB pages most of their time goes
// into TLB misses.
#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <cstdlib>
#include <memory>
#include <new>
#include <vector>

namespace deadheat::analysis {

class Slabs {
 public:
  static constexpr size_t kSlabBytes = 2U << 20;

  // A new, uninitialised piece. nullptr if there is no memory.
  void* add() {
    void* const piece = std::aligned_alloc(kSlabBytes, kSlabBytes);
    if (piece == nullptr) return nullptr;
    ::madvise(piece, kSlabBytes, MADV_HUGEPAGE);  // only a hint
    pieces_.emplace_back(piece);
    return piece;
  }
  size_t count() const { return pieces_.size(); }
  void* piece(size_t index) const { return pieces_[index].get(); }

 private:
  struct Free {
    void operator()(void* piece) const { std::free(piece); }
  };
  std::vector<std::unique_ptr<void, Free>> pieces_;
};

}  // namespace deadheat::analysis
