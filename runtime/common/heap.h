// The program's heap is libc's. Each block gets our header in front and a bit that marks where it
// begins, so that an address inside a block leads to the block (for reports and RDIT's scan).
//
// Blocks that were not allocated here (before we started, or bypassing us) have no header and go to
// libc unchanged.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "runtime/common/mode.h"

namespace deadheat::runtime {

struct BlockHeader {
  uint64_t size : 48;
  uint64_t magic : 16;
  uint32_t stack;   // the mode's id of the allocating stack
  uint32_t thread;  // number of the allocating thread
};
static_assert(sizeof(BlockHeader) == 16);

struct Block {
  Address begin = 0;
  size_t size = 0;
  uint32_t stack = 0;
  uint32_t thread = 0;
};

// Allocates block and header; null and errno as in libc. alignment: 0, or a power of two.
void* heap_allocate(size_t size, size_t alignment, bool zero, uint32_t thread);
bool heap_owns(const void* block);  // whether it has our header
inline BlockHeader* heap_header(void* block) { return static_cast<BlockHeader*>(block) - 1; }
inline size_t heap_size(void* block) { return heap_header(block)->size; }
void heap_release(void* block);  // one that heap_owns()
// The same, but the memory may stay out of use for a while (quarantine.h). `thread`: who frees it.
void heap_retire(void* block, uint32_t thread);
// Whether blocks begin near the address: if so heap_find is quick.
bool heap_is_near(Address address);
// The live block that contains the address.
bool heap_find(Address address, Block* block);
void heap_after_fork();

}  // namespace deadheat::runtime
