// What most of the programs share. SAFE is 0 or 1, given by the runner: every source is a racy
// program and its safe twin.
#pragma once

#ifndef SAFE
#error "compile with -DSAFE=0 (racy) or -DSAFE=1 (safe)"
#endif

#include <pthread.h>
#include <stddef.h>

#include "invisible.h"

// Starts both, joins both.
static inline void run_two(void* (*first)(void*), void* (*second)(void*)) {
  pthread_t threads[2];
  pthread_create(&threads[0], NULL, first, NULL);
  pthread_create(&threads[1], NULL, second, NULL);
  pthread_join(threads[0], NULL);
  pthread_join(threads[1], NULL);
}
