// The ends of heap blocks: a watch of their bytes ends with them. Nothing else of the heap is ours.
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

}  // namespace deadheat::runtime
