// A library that is never instrumented. Its lock is made of builtins, so no detector sees it.
#include "hidden_lock.h"

static int global_lock;
static long global_total;

static void take(int* word) {
  while (__atomic_exchange_n(word, 1, __ATOMIC_ACQUIRE)) __builtin_ia32_pause();
}

static void give(int* word) { __atomic_store_n(word, 0, __ATOMIC_RELEASE); }

void hidden_acquire(struct Hidden* lock) { take(&lock->word); }
void hidden_release(struct Hidden* lock) { give(&lock->word); }

void hidden_global_acquire(void) { take(&global_lock); }
void hidden_global_release(void) { give(&global_lock); }

long hidden_add(long amount) {
  take(&global_lock);
  long now = global_total += amount;
  give(&global_lock);
  return now;
}

void hidden_wait(struct Hidden* event) {
  __atomic_store_n(&event->waiting, 1, __ATOMIC_RELEASE);
  while (!__atomic_load_n(&event->word, __ATOMIC_ACQUIRE)) __builtin_ia32_pause();
}

void hidden_post(struct Hidden* event) {
  // Only once the other waits inside: their calls overlap.
  while (!__atomic_load_n(&event->waiting, __ATOMIC_ACQUIRE)) __builtin_ia32_pause();
  __atomic_store_n(&event->word, 1, __ATOMIC_RELEASE);
}

void hidden_copy(char* to, const char* from, long size) {
  for (long i = 0; i < size; ++i) ((volatile char*)to)[i] = from[i];
}

void hidden_locked_call(struct Hidden* lock, void (*callback)(void*), void* argument) {
  if (__atomic_exchange_n(&lock->word, 1, __ATOMIC_ACQUIRE)) {
    __atomic_store_n(&lock->waiting, 1, __ATOMIC_RELEASE);
    take(&lock->word);
  }
  callback(argument);
  give(&lock->word);
}
