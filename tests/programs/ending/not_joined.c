// main ends while an unjoined thread is about to race with main's accesses.
#include "program.h"

pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
int last;

static void* late(void* arg) {
  await(0);
  if (SAFE) pthread_mutex_lock(&lock);
  last = 1;  // RACE!
  if (SAFE) pthread_mutex_unlock(&lock);
  return NULL;
}

int main(void) {
  pthread_t thread;
  pthread_create(&thread, NULL, late, NULL);
  if (SAFE) pthread_mutex_lock(&lock);
  last = 2;  // RACE!
  if (SAFE) pthread_mutex_unlock(&lock);
  tell(0);
}
