// Two readers hold the lock at once: neither may write.
#include "program.h"

pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
int hits;

static void* worker(void* arg) {
  if (SAFE) {
    pthread_rwlock_wrlock(&lock);
  } else {
    pthread_rwlock_rdlock(&lock);
  }
  hits += 1;  // RACE!
  pthread_rwlock_unlock(&lock);
  tell(0);
  return NULL;
}

int main(void) {
  pthread_t a, b;
  pthread_create(&a, NULL, worker, NULL);
  await(0);
  pthread_create(&b, NULL, worker, NULL);
  pthread_join(a, NULL);
  pthread_join(b, NULL);
}
