// The flag is set without the mutex that the waiter holds.
#include "program.h"

pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
int ready;

static void* setter(void* arg) {
  if (SAFE) pthread_mutex_lock(&lock);
  ready = 1;  // RACE!
  if (SAFE) pthread_mutex_unlock(&lock);
  tell(0);
  pthread_cond_signal(&changed);
  return NULL;
}

static void* waiter(void* arg) {
  await(0);
  pthread_mutex_lock(&lock);
  while (!ready) pthread_cond_wait(&changed, &lock);  // RACE!
  pthread_mutex_unlock(&lock);
  return NULL;
}

int main(void) { run_two(setter, waiter); }
