// The ends of heap blocks: a watch of their bytes ends with them. Nothing else of the heap is ours.
#include <string.h>

#include "runtime/common/intercept/interceptor.h"
#include "runtime/validate/order.h"

namespace deadheat::runtime {

REAL_FUNCTION(size_t, malloc_usable_size, (void* block))

namespace {

inline void ends(void* block) {
  if (__builtin_expect(!is_tracking(), 1) || block == nullptr || self() == nullptr) return;
  on_free(self(), 0, address_of(block), REAL(malloc_usable_size)(block));
}

}  // namespace

INTERCEPT(void, free, (void* block)) {
  ends(block);
  REAL(free)(block);
}

INTERCEPT(void*, realloc, (void* block, size_t size)) {
  ends(block);
  return REAL(realloc)(block, size);
}

INTERCEPT(void*, reallocarray, (void* block, size_t count, size_t size)) {
  ends(block);
  return REAL(reallocarray)(block, count, size);
}

// Copies and fills in objects that clang built for detection. They are not sites here, and only do
// their work.
EXPORTED void* __tsan_memcpy(void* to, const void* from, size_t size) {
  return memcpy(to, from, size);
}
EXPORTED void* __tsan_memmove(void* to, const void* from, size_t size) {
  return memmove(to, from, size);
}
EXPORTED void* __tsan_memset(void* to, int value, size_t size) { return memset(to, value, size); }

}  // namespace deadheat::runtime
