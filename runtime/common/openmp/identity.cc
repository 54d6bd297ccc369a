// A program that asks which thread runs it gets a different answer in each run: two tasks that use
// data of their thread are ordered if they ran in the same one (mode.h, mode_thread_identity).
// Thread-local variables are recognised by their addresses.
#include <sched.h>
#include <unistd.h>

#include "runtime/common/openmp/current.h"

namespace deadheat::runtime {

namespace {

inline void asks_for_thread() {
  if (self() != nullptr) mode_thread_identity(self());
}

}  // namespace

INTERCEPT(pthread_t, pthread_self, ()) {
  asks_for_thread();
  return REAL(pthread_self)();
}
INTERCEPT(void*, pthread_getspecific, (pthread_key_t key)) {
  asks_for_thread();
  return REAL(pthread_getspecific)(key);
}
INTERCEPT(pid_t, gettid, ()) {
  asks_for_thread();
  return REAL(gettid)();
}
INTERCEPT(int, sched_getcpu, ()) {
  asks_for_thread();
  return REAL(sched_getcpu)();
}

INTERCEPT_OPENMP(int, omp_get_thread_num, ()) {
  asks_for_thread();
  return OPENMP(omp_get_thread_num)();
}
INTERCEPT_OPENMP(int, omp_get_ancestor_thread_num, (int level)) {
  asks_for_thread();
  return OPENMP(omp_get_ancestor_thread_num)(level);
}

// A thread's own copy of a variable.
INTERCEPT_OPENMP(void*, __kmpc_threadprivate_cached,
                 (void* place, int thread, void* data, size_t size, void*** cache)) {
  asks_for_thread();
  return OPENMP(__kmpc_threadprivate_cached)(place, thread, data, size, cache);
}
INTERCEPT_OPENMP(void*, __kmpc_task_reduction_get_th_data, (int thread, void* group, void* data)) {
  asks_for_thread();
  return OPENMP(__kmpc_task_reduction_get_th_data)(thread, group, data);
}
INTERCEPT_OPENMP(void, GOMP_task_reduction_remap, (size_t count, size_t originals, void** copies)) {
  asks_for_thread();
  OPENMP(GOMP_task_reduction_remap)(count, originals, copies);
}

}  // namespace deadheat::runtime
