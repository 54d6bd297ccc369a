// 64 threads on one counter and 64 counters of their own.
#include "program.h"

enum { kThreads = 64 };
int total, own[kThreads];
pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void* worker(void* arg) {
  int* mine = arg;
  *mine += 1;  // NORACE
  if (SAFE) pthread_mutex_lock(&lock);
  total += 1;  // RACE!
  if (SAFE) pthread_mutex_unlock(&lock);
  return NULL;
}

int main(void) {
  pthread_t threads[kThreads];
  for (int i = 0; i < kThreads; ++i) pthread_create(&threads[i], NULL, worker, &own[i]);
  for (int i = 0; i < kThreads; ++i) pthread_join(threads[i], NULL);
  use(total);  // NORACE
}
