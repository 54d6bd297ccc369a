// The runtime's own memory, never the program's heap. Power-of-two classes with free lists over
// chunks from the kernel; allocated memory is zeroed. Returns null when the kernel has no more,
// which callers count as a loss.
#pragma once

#include <stddef.h>

#include "runtime/common/os.h"

inline void* operator new(size_t, void* place, const deadheat::runtime::Lock*) noexcept {
  return place;
}

namespace deadheat::runtime {

void* arena_allocate(size_t size);
void arena_free(void* block, size_t size);  // size as passed to allocate
void arena_after_fork();

// Constructs a T in the arena; null if there is no memory.
template <typename T>
T* arena_new() {
  void* const place = arena_allocate(sizeof(T));
  return place == nullptr ? nullptr
                          : new (place, static_cast<const deadheat::runtime::Lock*>(nullptr)) T;
}

// The allocator policy of lib/order's clocks.
struct ArenaMemory {
  static void* grow(void* old, size_t old_size, size_t size);
  static void release(void* block, size_t size) { arena_free(block, size); }
};

}  // namespace deadheat::runtime
