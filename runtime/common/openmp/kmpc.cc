// What libomp's tools interface does not report, or not at the right moment: ordered and doacross
// loops, the end of a reduction, flushes.
#include "runtime/common/openmp/current.h"

namespace deadheat::runtime::openmp {

namespace {

Team* current_team() { return current_task == nullptr ? nullptr : current_task->team; }

}  // namespace

INTERCEPT_OPENMP(void, __kmpc_ordered, (void* place, int thread)) {
  OPENMP(__kmpc_ordered)(place, thread);
  if (const Team* const team = current_team()) after(team->ordered());
}
INTERCEPT_OPENMP(void, __kmpc_end_ordered, (void* place, int thread)) {
  if (const Team* const team = current_team()) before(team->ordered());
  OPENMP(__kmpc_end_ordered)(place, thread);
}

INTERCEPT_OPENMP(void, __kmpc_doacross_post, (void* place, int thread, const long* iteration)) {
  if (const Team* const team = current_team()) before(team->doacross(*iteration));
  OPENMP(__kmpc_doacross_post)(place, thread, iteration);
}
INTERCEPT_OPENMP(void, __kmpc_doacross_wait, (void* place, int thread, const long* iteration)) {
  OPENMP(__kmpc_doacross_wait)(place, thread, iteration);
  if (const Team* const team = current_team()) after(team->doacross(*iteration));
}

// The thread that gets 1 adds its part, alone, until it calls end: under the lock, or as the first
// thread after all others have reached a barrier, which they leave after that.
INTERCEPT_OPENMP(int, __kmpc_reduce,
                 (void* place, int thread, int count, size_t size, void* data,
                  void (*reduce)(void*, void*), void* lock)) {
  const int how = OPENMP(__kmpc_reduce)(place, thread, count, size, data, reduce, lock);
  after(address_of(lock));
  return how;
}
INTERCEPT_OPENMP(int, __kmpc_reduce_nowait,
                 (void* place, int thread, int count, size_t size, void* data,
                  void (*reduce)(void*, void*), void* lock)) {
  const int how = OPENMP(__kmpc_reduce_nowait)(place, thread, count, size, data, reduce, lock);
  after(address_of(lock));
  return how;
}
INTERCEPT_OPENMP(void, __kmpc_end_reduce, (void* place, int thread, void* lock)) {
  before(address_of(lock));
  OPENMP(__kmpc_end_reduce)(place, thread, lock);
}
INTERCEPT_OPENMP(void, __kmpc_end_reduce_nowait, (void* place, int thread, void* lock)) {
  before(address_of(lock));
  OPENMP(__kmpc_end_reduce_nowait)(place, thread, lock);
}

INTERCEPT_OPENMP(void, __kmpc_flush, (void* place)) {
  OPENMP(__kmpc_flush)(place);
  if (self() != nullptr) on_fence(self(), CALLER, MemoryOrder::kSeqCst);
}

}  // namespace deadheat::runtime::openmp
