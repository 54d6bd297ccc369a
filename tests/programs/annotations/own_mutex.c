// A mutex of inline assembly, made known by __tsan_mutex_*.
// build: tools=deadheat,tsan
#include "annotations/annotations.h"
#include "program.h"

int word, shared;

static void take(void) {
  __tsan_mutex_pre_lock(&word, 0);
  int one = 1;
  do {
    one = 1;
    __asm__ volatile("xchg %0, %1" : "+r"(one), "+m"(word) : : "memory");
  } while (one);
  __tsan_mutex_post_lock(&word, 0, 0);
}

static void give(void) {
  __tsan_mutex_pre_unlock(&word, 0);
  __asm__ volatile("movl $0, %0" : "=m"(word) : : "memory");
  __tsan_mutex_post_unlock(&word, 0);
}

static void* worker(void* arg) {
  take();
  if (SAFE) shared += 1;  // NORACE
  give();
  if (!SAFE) shared += 1;  // RACE!
  return NULL;
}

int main(void) {
  __tsan_mutex_create(&word, 0);
  run_two(worker, worker);
  __tsan_mutex_destroy(&word, 0);
}
