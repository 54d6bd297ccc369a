// A read unlock is ordered before the next write lock, but not before the next read lock.
#include "program.h"

pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
int seen;

static void* reader(void* arg) {
  pthread_rwlock_rdlock(&lock);
  seen = 1;  // RACE!
  pthread_rwlock_unlock(&lock);
  tell(0);
  return NULL;
}

static void* second(void* arg) {
  await(0);
  if (SAFE) {
    pthread_rwlock_wrlock(&lock);
  } else {
    pthread_rwlock_rdlock(&lock);
  }
  use(seen);  // RACE!
  pthread_rwlock_unlock(&lock);
  return NULL;
}

int main(void) { run_two(reader, second); }
