// Two tokens let two threads in: that one left before the other came orders nothing. With one token
// it does.
#include <semaphore.h>

#include "program.h"

sem_t section;
int inside;

static void* early(void* arg) {
  sem_wait(&section);
  ++inside;  // RACE!
  sem_post(&section);
  tell(0);
  return NULL;
}

static void* late(void* arg) {
  await(0);
  sem_wait(&section);
  ++inside;  // RACE!
  sem_post(&section);
  return NULL;
}

int main(void) {
  sem_init(&section, 0, SAFE ? 1 : 2);
  run_two(early, late);
  sem_destroy(&section);
}
