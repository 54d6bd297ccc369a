// The owner of a robust mutex dies; the next one gets EOWNERDEAD, and the lock.
#include <errno.h>

#include "program.h"

pthread_mutex_t lock;
int shared, beside;

static void* dying(void* arg) {
  pthread_mutex_lock(&lock);
  shared = 1;  // NORACE
  tell(0);
  return NULL;
}

static void* heir(void* arg) {
  await(0);
  if (pthread_mutex_lock(&lock) == EOWNERDEAD) {
    pthread_mutex_consistent(&lock);
    if (SAFE) beside += 1;
    shared = 2;  // NORACE as after an unlock
    pthread_mutex_unlock(&lock);
  }
  if (!SAFE) beside = 1;  // RACE!
  tell(1);
  await(2);
  return NULL;
}

int main(void) {
  pthread_mutexattr_t attributes;
  pthread_mutexattr_init(&attributes);
  pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
  pthread_mutex_init(&lock, &attributes);
  pthread_t a, b;
  pthread_create(&a, NULL, dying, NULL);
  pthread_create(&b, NULL, heir, NULL);
  await(1);
  if (!SAFE) beside = 2;  // RACE!
  tell(2);
  pthread_join(a, NULL);
  pthread_join(b, NULL);
  pthread_mutex_destroy(&lock);
}
