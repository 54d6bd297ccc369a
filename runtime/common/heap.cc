#include "runtime/common/heap.h"

#include <errno.h>
#include <string.h>

#include "runtime/common/arena.h"
#include "runtime/common/os.h"
#include "runtime/common/quarantine.h"
#include "runtime/common/segment_map.h"

// glibc's internal names for its allocator: they bypass interposition, including ours.
extern "C" {
void* __libc_malloc(size_t);
void* __libc_calloc(size_t, size_t);
void* __libc_memalign(size_t, size_t);
void __libc_free(void*);
}

namespace deadheat::runtime {

namespace {

constexpr uint64_t kPlain = 0xdea1;    // the real block begins at the header
constexpr uint64_t kAligned = 0xdea2;  // the word before the header holds the block's beginning
constexpr size_t kLarge = 1 << 20;     // from here on listed: a backward bit search would be long

AddressBits<4> starts;
// Where any block ever began, to reject addresses far from all blocks quickly.
constexpr Address kChunk = 1 << 16;
AddressBits<16> chunks;

struct LargeBlocks {
  Lock lock;
  Address* begins = nullptr;
  size_t count = 0;
  size_t capacity = 0;
} large;

void add_large(Address begin) {
  const Locked locked(large.lock);
  if (large.count == large.capacity) {
    const size_t capacity = large.capacity == 0 ? 512 : large.capacity * 2;
    void* const grown = ArenaMemory::grow(large.begins, large.capacity * sizeof(Address),
                                          capacity * sizeof(Address));
    if (grown == nullptr) return;  // only its description is lost
    large.begins = static_cast<Address*>(grown);
    large.capacity = capacity;
  }
  large.begins[large.count++] = begin;
}

void remove_large(Address begin) {
  const Locked locked(large.lock);
  for (size_t i = 0; i < large.count; ++i) {
    if (large.begins[i] != begin) continue;
    large.begins[i] = large.begins[--large.count];
    return;
  }
}

bool describe(Address begin, Address address, Block* block) {
  const BlockHeader header = *heap_header(reinterpret_cast<void*>(begin));
  if (header.magic != kPlain && header.magic != kAligned) return false;
  if (address >= begin + header.size && address != begin) return false;
  *block = {begin, header.size, header.stack, header.thread};
  return true;
}

bool find_large(Address address, Block* block) {
  const Locked locked(large.lock);
  for (size_t i = 0; i < large.count; ++i)
    if (large.begins[i] <= address && describe(large.begins[i], address, block)) return true;
  return false;
}

char* real_allocate(size_t size, size_t alignment, bool zero) {
  if (alignment > 16) return static_cast<char*>(__libc_memalign(alignment, size + alignment));
  return static_cast<char*>(zero ? __libc_calloc(1, size + sizeof(BlockHeader))
                                 : __libc_malloc(size + sizeof(BlockHeader)));
}

// Ends our tracking of a block. Returns libc's block, of which it is a part.
char* forget_block(void* block) {
  BlockHeader* const header = heap_header(block);
  const auto begin = reinterpret_cast<Address>(block);
  if (header->size >= kLarge) remove_large(begin);
  starts.clear(begin);
  char* real = reinterpret_cast<char*>(header);
  if (header->magic == kAligned) memcpy(&real, real - sizeof real, sizeof real);
  header->magic = 0;
  return real;
}

}  // namespace

void* heap_allocate(size_t size, size_t alignment, bool zero, uint32_t thread) {
  if (size >> 47 != 0 || alignment >> 40 != 0) {
    errno = ENOMEM;
    return nullptr;
  }
  char* real = real_allocate(size, alignment, zero);
  if (real == nullptr) {
    empty_quarantine();
    real = real_allocate(size, alignment, zero);
  }
  if (real == nullptr) return nullptr;
  const uint64_t magic = alignment > 16 ? kAligned : kPlain;
  char* const block = real + (alignment > 16 ? alignment : sizeof(BlockHeader));
  BlockHeader* const header = heap_header(block);
  *header = {.size = size & ((uint64_t{1} << 48) - 1),
             .magic = magic & 0xffff,
             .stack = 0,
             .thread = thread};
  if (magic == kAligned) {
    memcpy(reinterpret_cast<char*>(header) - sizeof real, &real, sizeof real);
    if (zero) memset(block, 0, size);
  }
  const auto begin = reinterpret_cast<Address>(block);
  starts.set(begin);
  if (!chunks.test(begin)) chunks.set(begin);
  if (size >= kLarge) add_large(begin);
  return block;
}

bool heap_owns(const void* block) {
  const auto begin = reinterpret_cast<Address>(block);
  return (begin & 15) == 0 && starts.test(begin);
}

void heap_release(void* block) { __libc_free(forget_block(block)); }

void heap_retire(void* block, uint32_t thread) {
  const size_t size = heap_size(block);
  char* const real = forget_block(block);
  if (!quarantine_keep(real, size, thread)) __libc_free(real);
}

bool heap_is_near(Address address) { return chunks.test(address); }

bool heap_find(Address address, Block* block) {
  const size_t words = kLarge / AddressBits<4>::kBytesPerWord + 1;
  Address at = address;
  for (size_t i = 0; i <= words; ++i) {
    if (!chunks.test(at)) {
      const Address chunk = at & ~(kChunk - 1);
      i += (at - chunk) / AddressBits<4>::kBytesPerWord;
      if (chunk == 0) break;
      at = chunk - 1;
      continue;
    }
    const uint64_t* const word = starts.find(at);
    if (word != nullptr) {
      uint64_t bits = __atomic_load_n(word, __ATOMIC_RELAXED);
      if (at == address && AddressBits<4>::bit(at) != 63)
        bits &= (uint64_t{2} << AddressBits<4>::bit(at)) - 1;
      if (bits != 0) {
        const Address base = at & ~(AddressBits<4>::kBytesPerWord - 1);
        const auto highest = static_cast<unsigned>(63 - __builtin_clzll(bits));
        if (describe(base + (Address{highest} << 4), address, block)) return true;
        break;
      }
    }
    if (at < AddressBits<4>::kBytesPerWord) break;
    at -= AddressBits<4>::kBytesPerWord;
  }
  return find_large(address, block);
}

void heap_after_fork() {
  large.lock.reset();
  quarantine_after_fork();
}

}  // namespace deadheat::runtime
