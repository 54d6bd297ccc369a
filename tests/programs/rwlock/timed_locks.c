// Timed and clocked read and write locks.
#define _GNU_SOURCE
#include <errno.h>
#include <time.h>

#include "program.h"

pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
int shared;

static void* holder(void* arg) {
  struct timespec end;
  clock_gettime(CLOCK_REALTIME, &end);
  end.tv_sec += 3600;
  pthread_rwlock_timedwrlock(&lock, &end);
  shared = 1;  // RACE!
  tell(0);
  await(1);
  pthread_rwlock_unlock(&lock);
  return NULL;
}

static void* impatient(void* arg) {
  await(0);
  struct timespec past = {1, 0}, end;
  int refused = pthread_rwlock_timedrdlock(&lock, &past) == ETIMEDOUT;
  if (!SAFE && refused) use(shared);  // RACE!
  tell(1);
  clock_gettime(CLOCK_MONOTONIC, &end);
  end.tv_sec += 3600;
  if (pthread_rwlock_clockrdlock(&lock, CLOCK_MONOTONIC, &end) == 0) {
    use(shared);  // NORACE
    pthread_rwlock_unlock(&lock);
  }
  if (pthread_rwlock_clockwrlock(&lock, CLOCK_MONOTONIC, &end) == 0) {
    shared = 2;  // NORACE
    pthread_rwlock_unlock(&lock);
  }
  return NULL;
}

int main(void) { run_two(holder, impatient); }
