// Memory that the library allocates, from its own pools or tbbmalloc's. It gives a block to
// successive users in ways that we do not see, so the accesses of earlier users are
// forgotten.
#include "runtime/common/tbb/library.h"

namespace deadheat::runtime::tbb {

namespace {

void* fresh(void* block, size_t size) {
  if (self() != nullptr && block != nullptr) on_memory_reset(self(), address_of(block), size);
  return block;
}

}  // namespace

INTERCEPT_TBB(void*, allocate, TBB_R1("8allocateERPNS0_2d117small_object_poolEm"),
              (void** pool, size_t size)) {
  return fresh(TBB(allocate)(pool, size), size);
}
INTERCEPT_TBB(void*, allocate_in,
              TBB_R1("8allocateERPNS0_2d117small_object_poolEmRKNS2_14execution_dataE"),
              (void** pool, size_t size, const void* execution)) {
  return fresh(TBB(allocate_in)(pool, size, execution), size);
}
INTERCEPT_TBB(void*, allocate_memory, TBB_R1("15allocate_memoryEm"), (size_t size)) {
  return fresh(TBB(allocate_memory)(size), size);
}
INTERCEPT_TBB(void*, cache_aligned_allocate, TBB_R1("22cache_aligned_allocateEm"), (size_t size)) {
  return fresh(TBB(cache_aligned_allocate)(size), size);
}

}  // namespace deadheat::runtime::tbb
