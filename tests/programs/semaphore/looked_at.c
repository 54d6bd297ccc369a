// Who sees by the count that somebody posted is ordered after the post.
#include <sched.h>
#include <semaphore.h>

#include "program.h"

sem_t ready;
int box;

static void* giver(void* arg) {
  if (SAFE) box = 1;
  sem_post(&ready);
  if (!SAFE) box = 2;  // RACE!
  tell(0);
  return NULL;
}

static void* looker(void* arg) {
  for (int count = 0; count < 3; sched_yield()) sem_getvalue(&ready, &count);
  await(0);
  use(box);  // RACE!
  return NULL;
}

int main(void) {
  sem_init(&ready, 0, 2);
  run_two(giver, looker);
}
