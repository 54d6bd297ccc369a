// Both sides hold a lock, but not the same one.
#include "program.h"

pthread_mutex_t locks[2] = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER};
int shared;

static void* first(void* arg) {
  pthread_mutex_lock(&locks[0]);
  shared = 1;  // RACE!
  pthread_mutex_unlock(&locks[0]);
  tell(0);
  return NULL;
}

static void* second(void* arg) {
  await(0);
  pthread_mutex_lock(&locks[SAFE ? 0 : 1]);
  shared = 2;  // RACE!
  pthread_mutex_unlock(&locks[SAFE ? 0 : 1]);
  return NULL;
}

int main(void) { run_two(first, second); }
