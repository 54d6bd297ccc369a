#include "hidden_thread.h"

#include <stdlib.h>

static void* body(void* argument) {
  struct HiddenThread* own = argument;
  while (__atomic_load_n(&own->state, __ATOMIC_ACQUIRE) != 1) __builtin_ia32_pause();
  void (*work)(void*) = own->work;
  void* with = own->argument;
  own->argument = 0;  // only its stack refers to its data
  work(with);
  __atomic_store_n(&own->state, 2, __ATOMIC_RELEASE);
  return 0;
}

struct HiddenThread* hidden_start(void) {
  struct HiddenThread* fresh = calloc(1, sizeof *fresh);
  pthread_create(&fresh->thread, 0, body, fresh);
  return fresh;
}

void hidden_submit(struct HiddenThread* on, void (*work)(void*), void* argument) {
  on->work = work;
  on->argument = argument;
  __atomic_store_n(&on->state, 1, __ATOMIC_RELEASE);
}

void hidden_finish(struct HiddenThread* of) {
  while (__atomic_load_n(&of->state, __ATOMIC_ACQUIRE) != 2) __builtin_ia32_pause();
}
