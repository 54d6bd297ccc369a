// sem_timedwait and sem_clockwait.
#define _GNU_SOURCE
#include <semaphore.h>
#include <time.h>

#include "program.h"

sem_t full;
int box;

static void* producer(void* arg) {
  box = 1;  // RACE!
  if (SAFE) sem_post(&full);
  if (SAFE) sem_post(&full);
  tell(0);
  return NULL;
}

static void* consumer(void* arg) {
  await(0);
  struct timespec end = {1, 0};
  if (SAFE) clock_gettime(CLOCK_MONOTONIC, &end);
  end.tv_sec += 3600;
  sem_clockwait(&full, CLOCK_MONOTONIC, SAFE ? &end : &(struct timespec){0, 1});
  if (SAFE) clock_gettime(CLOCK_REALTIME, &end);
  end.tv_sec += 3600;
  sem_timedwait(&full, SAFE ? &end : &(struct timespec){0, 1});
  use(box);  // RACE!
  return NULL;
}

int main(void) {
  sem_init(&full, 0, 0);
  run_two(producer, consumer);
}
