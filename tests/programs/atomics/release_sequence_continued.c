// In C, and in C++ before 20, a relaxed store continues the release sequence of its own thread; one
// of another thread ends it.
#include <stdatomic.h>

#include "program.h"

atomic_int flag;
int data;

static void* producer(void* arg) {
  data = 1;  // RACE!
  atomic_store_explicit(&flag, 1, memory_order_release);
  if (SAFE) atomic_store_explicit(&flag, 2, memory_order_relaxed);
  tell(0);
  return NULL;
}

static void* other(void* arg) {
  await(0);
  if (!SAFE) atomic_store_explicit(&flag, 2, memory_order_relaxed);
  tell(1);
  return NULL;
}

static void* consumer(void* arg) {
  await(1);
  if (atomic_load_explicit(&flag, memory_order_acquire) == 2) use(data);  // RACE!
  return NULL;
}

int main(void) {
  pthread_t thread;
  pthread_create(&thread, NULL, consumer, NULL);
  run_two(producer, other);
  pthread_join(thread, NULL);
}
