// tryrdlock and trywrlock.
#include <errno.h>

#include "program.h"

pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
int shared;

static void* holder(void* arg) {
  while (pthread_rwlock_trywrlock(&lock) != 0) sched_yield();
  shared = 1;  // RACE!
  tell(0);
  await(1);
  pthread_rwlock_unlock(&lock);
  tell(2);
  return NULL;
}

static void* trier(void* arg) {
  await(0);
  int refused =
      pthread_rwlock_tryrdlock(&lock) == EBUSY && pthread_rwlock_trywrlock(&lock) == EBUSY;
  if (!SAFE && refused) use(shared);  // RACE!
  tell(1);
  await(2);
  if (pthread_rwlock_tryrdlock(&lock) == 0) {
    use(shared);  // NORACE
    pthread_rwlock_unlock(&lock);
  }
  return NULL;
}

int main(void) { run_two(holder, trier); }
