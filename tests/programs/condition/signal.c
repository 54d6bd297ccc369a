// Producer and consumer with a condition variable; the racy producer fills the box after the
// signal.
#include "program.h"

pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t filled = PTHREAD_COND_INITIALIZER;
int ready, box;

static void* producer(void* arg) {
  if (SAFE) box = 1;  // NORACE
  pthread_mutex_lock(&lock);
  ready = 1;
  pthread_cond_signal(&filled);
  pthread_mutex_unlock(&lock);
  if (!SAFE) box = 2;  // RACE!
  tell(0);
  return NULL;
}

static void* consumer(void* arg) {
  pthread_mutex_lock(&lock);
  while (!ready) pthread_cond_wait(&filled, &lock);
  pthread_mutex_unlock(&lock);
  await(0);
  use(box);  // RACE!
  return NULL;
}

int main(void) { run_two(producer, consumer); }
