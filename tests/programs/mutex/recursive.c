// A recursive mutex is free only after its last unlock.
#define _GNU_SOURCE
#include "program.h"

pthread_mutex_t lock = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
int twice, once;

static void* first(void* arg) {
  pthread_mutex_lock(&lock);
  pthread_mutex_lock(&lock);
  twice += 1;  // NORACE
  pthread_mutex_unlock(&lock);
  twice += 2;          // NORACE still held
  if (SAFE) once = 1;  // NORACE
  pthread_mutex_unlock(&lock);
  if (!SAFE) once = 1;  // RACE!
  tell(0);
  return NULL;
}

static void* second(void* arg) {
  await(0);
  pthread_mutex_lock(&lock);
  pthread_mutex_lock(&lock);
  pthread_mutex_unlock(&lock);
  twice += 3;  // NORACE
  once += 1;   // RACE!
  pthread_mutex_unlock(&lock);
  return NULL;
}

int main(void) { run_two(first, second); }
