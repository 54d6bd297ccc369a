// A semaphore of this process, with tokens, and then one for other processes too at the same
// address: nobody knows its tokens, so every post comes before a later wait. What was left of the
// first one's tokens must not count.
#include <semaphore.h>

#include "program.h"

sem_t semaphore;
int box;

static void* giver(void* arg) {
  if (SAFE) box = 1;
  sem_post(&semaphore);
  if (!SAFE) box = 2;  // RACE!
  tell(0);
  return NULL;
}

static void* taker(void* arg) {
  sem_wait(&semaphore);
  await(0);
  use(box);  // RACE!
  return NULL;
}

int main(void) {
  sem_init(&semaphore, 0, 3);
  sem_destroy(&semaphore);
  sem_init(&semaphore, 1, 0);
  run_two(giver, taker);
  sem_destroy(&semaphore);
}
