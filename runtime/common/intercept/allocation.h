// Shared by the malloc family and the operators: a block, and what the mode learns about it.
#pragma once

#include "runtime/common/allocation_hooks.h"
#include "runtime/common/heap.h"
#include "runtime/common/intercept/interceptor.h"

extern "C" void __libc_free(void*);

namespace deadheat::runtime {

// A thread that receives a block without ordering and uses it races with the allocation. Marking
// all bytes would double the cost of the allocation, so only the first are marked: those that a
// user of a fresh pointer usually touches. Missed: a user that touches only other bytes.
constexpr size_t kFirstWord = 8;

inline void* allocate(size_t size, size_t alignment, bool zero, Address pc) {
  Thread* const thread = self();
  void* const block =
      heap_allocate(size, alignment, zero, thread == nullptr ? 0 : common(thread).number);
  if (block != nullptr && __builtin_expect(allocation_hooks, 0)) call_malloc_hooks(block, size);
  if (block == nullptr || thread == nullptr) return block;
  on_alloc(thread, pc, address_of(block), size);
  if (frees_for_program(pc))
    on_fresh(thread, pc, address_of(block), size < kFirstWord ? size : kFirstWord);
  return block;
}

inline void release(void* block, Address pc) {
  if (block == nullptr) return;
  if (__builtin_expect(allocation_hooks, 0) && call_free_hooks(block)) return;
  if (!heap_owns(block)) {
    __libc_free(block);
    return;
  }
  Thread* const thread = self();
  if (thread != nullptr && frees_for_program(pc)) {
    on_free(thread, pc, address_of(block), heap_size(block));
    if (&mode_frees_at_once != nullptr && mode_frees_at_once(thread)) return heap_release(block);
    heap_retire(block, common(thread).number);
    return;
  }
  if (thread != nullptr) on_memory_reset(thread, address_of(block), heap_size(block));
  heap_release(block);
}

}  // namespace deadheat::runtime
