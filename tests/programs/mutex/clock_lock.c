// pthread_mutex_clocklock (glibc 2.30), by the monotonic clock.
#define _GNU_SOURCE
#include <time.h>

#include "program.h"

pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
int shared;

static void* worker(void* arg) {
  struct timespec end;
  clock_gettime(CLOCK_MONOTONIC, &end);
  end.tv_sec += 3600;
  pthread_mutex_clocklock(&lock, CLOCK_MONOTONIC, &end);
  if (SAFE) shared += 1;  // NORACE
  pthread_mutex_unlock(&lock);
  if (!SAFE) {
    await(0);
    shared += 1;  // RACE!
    tell(0);
  }
  return NULL;
}

int main(void) {
  tell(0);
  run_two(worker, worker);
}
