// The malloc family.
//
// No lock and no table of ours here: the header in front of the block (heap.h) says all.
#include <errno.h>
#include <malloc.h>
#include <unistd.h>

#include "runtime/common/heap.h"
#include "runtime/common/intercept/allocation.h"
#include "runtime/common/intercept/interceptor.h"

extern "C" {
void __libc_free(void*);
void* __libc_realloc(void*, size_t);
}

namespace deadheat::runtime {

REAL_FUNCTION(size_t, malloc_usable_size, (void* block))

namespace {

bool power_of_two(size_t value) { return value != 0 && (value & (value - 1)) == 0; }

size_t page_size() { return static_cast<size_t>(getpagesize()); }

// Always allocates a new block: for other threads, the old one's bytes are freed.
void* reallocate(void* block, size_t size, Address pc) {
  if (block == nullptr) return allocate(size, 0, false, pc);
  if (!heap_owns(block)) return __libc_realloc(block, size);
  if (size == 0) {
    release(block, pc);
    return nullptr;
  }
  void* const grown = allocate(size, 0, false, pc);
  if (grown == nullptr) return nullptr;
  const size_t old_size = heap_size(block);
  __builtin_memcpy(grown, block, old_size < size ? old_size : size);
  release(block, pc);
  return grown;
}

}  // namespace

#define ALLOCATOR(result, name, parameters)                   \
  EXPORTED result intercept_##name parameters __asm__(#name); \
  extern "C" result intercept_##name parameters

ALLOCATOR(void*, malloc, (size_t size)) { return allocate(size, 0, false, CALLER); }

ALLOCATOR(void, free, (void* block)) { release(block, CALLER); }

ALLOCATOR(void, cfree, (void* block)) { release(block, CALLER); }

ALLOCATOR(void*, calloc, (size_t count, size_t size)) {
  size_t bytes;
  if (__builtin_mul_overflow(count, size, &bytes)) {
    errno = ENOMEM;
    return nullptr;
  }
  return allocate(bytes, 0, true, CALLER);
}

ALLOCATOR(void*, realloc, (void* block, size_t size)) { return reallocate(block, size, CALLER); }

ALLOCATOR(void*, reallocarray, (void* block, size_t count, size_t size)) {
  size_t bytes;
  if (__builtin_mul_overflow(count, size, &bytes)) {
    errno = ENOMEM;
    return nullptr;
  }
  return reallocate(block, bytes, CALLER);
}

ALLOCATOR(void*, memalign, (size_t alignment, size_t size)) {
  while (!power_of_two(alignment))
    alignment = alignment == 0 ? 16 : alignment + (alignment & -alignment);
  return allocate(size, alignment, false, CALLER);
}

ALLOCATOR(void*, aligned_alloc, (size_t alignment, size_t size)) {
  if (!power_of_two(alignment)) {
    errno = EINVAL;
    return nullptr;
  }
  return allocate(size, alignment, false, CALLER);
}

ALLOCATOR(int, posix_memalign, (void** block, size_t alignment, size_t size)) {
  if (!power_of_two(alignment) || alignment % sizeof(void*) != 0) return EINVAL;
  const int saved = errno;
  void* const made = allocate(size, alignment, false, CALLER);
  errno = saved;
  if (made == nullptr) return ENOMEM;
  *block = made;
  return 0;
}

ALLOCATOR(void*, valloc, (size_t size)) { return allocate(size, page_size(), false, CALLER); }

ALLOCATOR(void*, pvalloc, (size_t size)) {
  const size_t page = page_size();
  if (size > SIZE_MAX - page) {
    errno = ENOMEM;
    return nullptr;
  }
  return allocate((size + page - 1) / page * page, page, false, CALLER);
}

ALLOCATOR(size_t, malloc_usable_size, (void* block)) {
  if (block == nullptr) return 0;
  return heap_owns(block) ? heap_size(block) : REAL(malloc_usable_size)(block);
}

#undef ALLOCATOR

}  // namespace deadheat::runtime
