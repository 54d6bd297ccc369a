// A refused sem_trywait orders nothing.
#include <semaphore.h>

#include "program.h"

sem_t full;
int box;

static void* producer(void* arg) {
  box = 1;  // RACE!
  if (SAFE) sem_post(&full);
  tell(0);
  return NULL;
}

static void* consumer(void* arg) {
  await(0);
  int taken = sem_trywait(&full) == 0;
  if (SAFE == taken) use(box);  // RACE!
  return NULL;
}

int main(void) {
  sem_init(&full, 0, 0);
  run_two(producer, consumer);
}
