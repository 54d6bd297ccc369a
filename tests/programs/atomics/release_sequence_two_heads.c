// Two threads head release sequences of one object: a relaxed store of the first (in C) continues
// its own, behind the other's read-modify-write, and ends the other's.
#include <stdatomic.h>

#include "program.h"

atomic_int flag;
int first_data, second_data;

static void* first(void* arg) {
  first_data = 1;  // NORACE
  atomic_store_explicit(&flag, 1, memory_order_release);
  tell(0);
  await(1);
  atomic_store_explicit(&flag, 3, memory_order_relaxed);
  tell(2);
  return NULL;
}

static void* second(void* arg) {
  await(0);
  second_data = 1;  // RACE!
  atomic_fetch_add_explicit(&flag, 1, memory_order_release);
  tell(1);
  return NULL;
}

static void* last(void* arg) {
  await(2);
  if (atomic_load_explicit(&flag, memory_order_acquire) != 3) return NULL;
  use(first_data);              // NORACE
  if (!SAFE) use(second_data);  // RACE!
  return NULL;
}

int main(void) {
  pthread_t thread;
  pthread_create(&thread, NULL, last, NULL);
  run_two(first, second);
  pthread_join(thread, NULL);
}
