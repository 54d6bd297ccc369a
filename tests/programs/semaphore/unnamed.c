// sem_post orders what came before it with the sem_wait that it releases.
#include <semaphore.h>

#include "program.h"

sem_t full;
int box;

static void* producer(void* arg) {
  if (SAFE) box = 1;
  sem_post(&full);
  if (!SAFE) box = 2;  // RACE!
  tell(0);
  return NULL;
}

static void* consumer(void* arg) {
  sem_wait(&full);
  await(0);
  use(box);  // RACE!
  return NULL;
}

int main(void) {
  sem_init(&full, 0, 0);
  run_two(producer, consumer);
  sem_destroy(&full);
}
