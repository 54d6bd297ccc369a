// pthread_cond_clockwait (glibc 2.30), by the monotonic clock.
#define _GNU_SOURCE
#include <time.h>

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
  struct timespec end;
  clock_gettime(CLOCK_MONOTONIC, &end);
  end.tv_sec += 3600;
  pthread_mutex_lock(&lock);
  while (!ready) pthread_cond_clockwait(&filled, &lock, CLOCK_MONOTONIC, &end);
  pthread_mutex_unlock(&lock);
  await(0);
  box += 1;  // RACE!
  return NULL;
}

int main(void) { run_two(producer, consumer); }
