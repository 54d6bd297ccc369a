// memcpy reads its source and writes its destination.
// build: flags=-fno-builtin
#include <string.h>

#include "program.h"

char source[64], target[64];
pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void* copier(void* arg) {
  pthread_mutex_lock(&lock);
  memcpy(target, source, sizeof target);  // RACE! source // RACE! target
  pthread_mutex_unlock(&lock);
  tell(0);
  return NULL;
}

static void* user(void* arg) {
  await(0);
  if (SAFE) pthread_mutex_lock(&lock);
  source[40] = 'x';  // RACE! source
  use(target[63]);   // RACE! target
  if (SAFE) pthread_mutex_unlock(&lock);
  return NULL;
}

int main(void) { run_two(copier, user); }
