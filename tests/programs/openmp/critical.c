// build: flags=-fopenmp
// Sections of one name exclude each other, those of two names do not; the same for locks.
#include <omp.h>

#include "program.h"

int named, locked, nested;
omp_lock_t lock, other_lock;
omp_nest_lock_t nest;

static void left(void) {
#pragma omp critical(first)
  ++named;  // RACE! named
  omp_set_lock(&lock);
  ++locked;  // RACE! locked
  omp_unset_lock(&lock);
  omp_set_nest_lock(&nest);
  omp_set_nest_lock(&nest);
  omp_unset_nest_lock(&nest);
  ++nested;  // NORACE
  omp_unset_nest_lock(&nest);
}

static void right(void) {
#if SAFE
#pragma omp critical(first)
#else
#pragma omp critical(second)
#endif
  ++named;  // RACE! named
  omp_lock_t* const mine = SAFE ? &lock : &other_lock;
  omp_set_lock(mine);
  ++locked;  // RACE! locked
  omp_unset_lock(mine);
  omp_set_nest_lock(&nest);
  ++nested;  // NORACE
  omp_unset_nest_lock(&nest);
}

int main(void) {
  omp_init_lock(&lock);
  omp_init_lock(&other_lock);
  omp_init_nest_lock(&nest);
#pragma omp parallel num_threads(2)
  {
    if (omp_get_thread_num() == 0)
      left();
    else
      right();
  }
  omp_destroy_nest_lock(&nest);
  omp_destroy_lock(&other_lock);
  omp_destroy_lock(&lock);
}
