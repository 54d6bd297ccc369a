// Ordered by the lock though the access is outside of it: released after the write, taken before
// the read.
#include "program.h"

pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
int ready, data;

static void* producer(void* arg) {
  if (SAFE) data = 1;  // NORACE before the release
  pthread_mutex_lock(&lock);
  ready = 1;
  pthread_mutex_unlock(&lock);
  if (!SAFE) data = 2;  // RACE!
  tell(0);
  return NULL;
}

static void* consumer(void* arg) {
  await(0);
  pthread_mutex_lock(&lock);
  int seen = ready;
  pthread_mutex_unlock(&lock);
  if (seen) use(data);  // RACE!
  return NULL;
}

int main(void) { run_two(producer, consumer); }
