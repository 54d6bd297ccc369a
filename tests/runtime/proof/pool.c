// A library that runs a function in two threads of its own, one after the other, by means that a
// race detector does not see. Never instrumented.
#include <pthread.h>
#include <sched.h>

static void (*work)(void);
static int turn;

static void* run(void* arg) {
  while (__atomic_load_n(&turn, __ATOMIC_ACQUIRE) != (int)(long)arg) sched_yield();
  work();
  __atomic_add_fetch(&turn, 1, __ATOMIC_RELEASE);
  return NULL;
}

void pool_run_twice(void (*function)(void)) {
  work = function;
  turn = 0;
  pthread_t threads[2];
  for (long i = 0; i < 2; ++i) pthread_create(&threads[i], NULL, run, (void*)i);
  for (int i = 0; i < 2; ++i) pthread_join(threads[i], NULL);
}
