// A detached thread is never joined: only a lock orders what it did.
#include "program.h"

int total;
pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void* worker(void* arg) {
  pthread_detach(pthread_self());
  if (SAFE) pthread_mutex_lock(&lock);
  total = 1;  // RACE!
  if (SAFE) pthread_mutex_unlock(&lock);
  tell(0);
  return NULL;
}

int main(void) {
  pthread_t thread;
  pthread_create(&thread, NULL, worker, NULL);
  await(0);
  if (SAFE) pthread_mutex_lock(&lock);
  total += 1;  // RACE!
  if (SAFE) pthread_mutex_unlock(&lock);
}
