// Locks, critical and atomic sections of both libraries, and libomp's ordered sections: releases
// are reported before the real call, acquires after it.
#include "runtime/common/openmp/current.h"

namespace deadheat::runtime::openmp {

namespace {

inline void locked(Address pc, const volatile void* lock) {
  if (self() != nullptr) on_lock(self(), pc, address_of(lock), false);
}
inline void unlocks(Address pc, const volatile void* lock) {
  if (self() != nullptr) on_unlock(self(), pc, address_of(lock), false);
}
inline void destroys(Address pc, const volatile void* lock) {
  if (self() != nullptr) on_lock_destroy(self(), pc, address_of(lock));
}

const char unnamed_critical = 0;
const char all_atomics = 0;

}  // namespace

INTERCEPT_OPENMP(void, omp_set_lock, (void* lock)) {
  OPENMP(omp_set_lock)(lock);
  locked(CALLER, lock);
}
INTERCEPT_OPENMP(int, omp_test_lock, (void* lock)) {
  const int got = OPENMP(omp_test_lock)(lock);
  if (got != 0) locked(CALLER, lock);
  return got;
}
INTERCEPT_OPENMP(void, omp_unset_lock, (void* lock)) {
  unlocks(CALLER, lock);
  OPENMP(omp_unset_lock)(lock);
}
INTERCEPT_OPENMP(void, omp_destroy_lock, (void* lock)) {
  destroys(CALLER, lock);
  OPENMP(omp_destroy_lock)(lock);
}
INTERCEPT_OPENMP(void, omp_set_nest_lock, (void* lock)) {
  OPENMP(omp_set_nest_lock)(lock);
  locked(CALLER, lock);
}
INTERCEPT_OPENMP(int, omp_test_nest_lock, (void* lock)) {
  const int count = OPENMP(omp_test_nest_lock)(lock);
  if (count != 0) locked(CALLER, lock);
  return count;
}
INTERCEPT_OPENMP(void, omp_unset_nest_lock, (void* lock)) {
  unlocks(CALLER, lock);
  OPENMP(omp_unset_nest_lock)(lock);
}
INTERCEPT_OPENMP(void, omp_destroy_nest_lock, (void* lock)) {
  destroys(CALLER, lock);
  OPENMP(omp_destroy_nest_lock)(lock);
}

INTERCEPT_OPENMP(void, GOMP_critical_start, ()) {
  OPENMP(GOMP_critical_start)();
  locked(CALLER, &unnamed_critical);
}
INTERCEPT_OPENMP(void, GOMP_critical_end, ()) {
  unlocks(CALLER, &unnamed_critical);
  OPENMP(GOMP_critical_end)();
}
INTERCEPT_OPENMP(void, GOMP_critical_name_start, (void** name)) {
  OPENMP(GOMP_critical_name_start)(name);
  locked(CALLER, name);
}
INTERCEPT_OPENMP(void, GOMP_critical_name_end, (void** name)) {
  unlocks(CALLER, name);
  OPENMP(GOMP_critical_name_end)(name);
}
INTERCEPT_OPENMP(void, GOMP_atomic_start, ()) {
  OPENMP(GOMP_atomic_start)();
  locked(CALLER, &all_atomics);
}
INTERCEPT_OPENMP(void, GOMP_atomic_end, ()) {
  unlocks(CALLER, &all_atomics);
  OPENMP(GOMP_atomic_end)();
}

// --- libomp. `place` is the source location, `thread` libomp's own number.

INTERCEPT_OPENMP(void, __kmpc_critical, (void* place, int thread, void* name)) {
  OPENMP(__kmpc_critical)(place, thread, name);
  locked(CALLER, name);
}
INTERCEPT_OPENMP(void, __kmpc_critical_with_hint,
                 (void* place, int thread, void* name, unsigned hint)) {
  OPENMP(__kmpc_critical_with_hint)(place, thread, name, hint);
  locked(CALLER, name);
}
INTERCEPT_OPENMP(void, __kmpc_end_critical, (void* place, int thread, void* name)) {
  unlocks(CALLER, name);
  OPENMP(__kmpc_end_critical)(place, thread, name);
}

}  // namespace deadheat::runtime::openmp
