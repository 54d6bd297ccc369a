// An error-checking mutex that refuses (EDEADLK, EPERM) changes no order.
#define _GNU_SOURCE
#include <errno.h>

#include "program.h"

pthread_mutex_t lock = PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP;
int shared;

static void* first(void* arg) {
  pthread_mutex_lock(&lock);
  if (pthread_mutex_lock(&lock) != EDEADLK) return NULL;
  shared = 1;  // RACE!
  pthread_mutex_unlock(&lock);
  tell(0);
  return NULL;
}

static void* second(void* arg) {
  await(0);
  if (SAFE) pthread_mutex_lock(&lock);
  if (!SAFE && pthread_mutex_unlock(&lock) != EPERM) return NULL;  // not ours: no edge
  shared = 2;                                                      // RACE!
  if (SAFE) pthread_mutex_unlock(&lock);
  return NULL;
}

int main(void) { run_two(first, second); }
