#include "runtime/common/arena.h"

#include <string.h>

#include "runtime/common/bytes.h"

namespace deadheat::runtime {

namespace {

constexpr size_t kSmallestShift = 4;
constexpr size_t kClasses = 17;  // 16 bytes to 1 MiB; larger blocks are mapped individually
constexpr size_t kChunk = 1 << 20;
constexpr size_t kShards = 8;  // by the calling thread's stack, so that threads rarely contend

struct FreeBlock {
  FreeBlock* next;
};

struct Shard {
  Lock lock;
  FreeBlock* free[kClasses];
  char* at;
  char* end;
};

Shard shards[kShards];

size_t class_of(size_t size) {
  size_t shift = kSmallestShift;
  while ((size_t{1} << shift) < size) ++shift;
  return shift - kSmallestShift;
}
size_t class_size(size_t index) { return size_t{1} << (index + kSmallestShift); }
size_t page_round(size_t size) { return (size + 4095) & ~size_t{4095}; }

Shard& my_shard() {
  const auto stack = reinterpret_cast<uintptr_t>(__builtin_frame_address(0));
  return shards[(stack >> 20) % kShards];
}

}  // namespace

void* arena_allocate(size_t size) {
  const size_t index = class_of(size);
  if (index >= kClasses) return map_memory(page_round(size));
  const size_t rounded = class_size(index);
  Shard& shard = my_shard();
  const Locked locked(shard.lock);
  if (FreeBlock* const block = shard.free[index]; block != nullptr) {
    shard.free[index] = block->next;
    zero_cells(block, rounded);  // not memset, which is ours
    return block;
  }
  if (static_cast<size_t>(shard.end - shard.at) < rounded) {
    if (rounded > kChunk / 8) return map_memory(rounded);
    char* const chunk = static_cast<char*>(map_memory(kChunk));
    if (chunk == nullptr) return nullptr;
    shard.at = chunk;  // the rest of the former chunk is lost: less than the requested block
    shard.end = chunk + kChunk;
  }
  void* const block = shard.at;
  shard.at += rounded;
  return block;
}

void arena_free(void* block, size_t size) {
  if (block == nullptr) return;
  const size_t index = class_of(size);
  if (index >= kClasses) {
    unmap_memory(block, page_round(size));
    return;
  }
  Shard& shard = my_shard();
  const Locked locked(shard.lock);
  auto* const freed = static_cast<FreeBlock*>(block);
  freed->next = shard.free[index];
  shard.free[index] = freed;
}

void arena_after_fork() {
  for (Shard& shard : shards) shard.lock.reset();
}

void* ArenaMemory::grow(void* old, size_t old_size, size_t size) {
  void* const grown = arena_allocate(size);
  if (grown == nullptr) return nullptr;
  if (old_size > 0) memcpy(grown, old, old_size);
  arena_free(old, old_size);
  return grown;
}

}  // namespace deadheat::runtime
