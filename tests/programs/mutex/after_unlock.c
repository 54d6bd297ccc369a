// The access comes after the unlock: the next owner of the lock is not ordered after it.
#include "program.h"

pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
int shared;

static void* first(void* arg) {
  pthread_mutex_lock(&lock);
  if (SAFE) shared = 1;  // NORACE
  pthread_mutex_unlock(&lock);
  if (!SAFE) shared = 2;  // RACE!
  tell(0);
  return NULL;
}

static void* second(void* arg) {
  await(0);
  pthread_mutex_lock(&lock);
  use(shared);  // RACE!
  pthread_mutex_unlock(&lock);
  return NULL;
}

int main(void) { run_two(first, second); }
