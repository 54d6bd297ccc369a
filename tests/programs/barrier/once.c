// Before the barrier each writes its own cell; after it everybody may read all.
#include "program.h"

pthread_barrier_t barrier;
int cells[2];

static void* left(void* arg) {
  if (SAFE) cells[0] = 1;
  pthread_barrier_wait(&barrier);
  if (!SAFE) cells[0] = 1;  // RACE!
  tell(0);
  use(cells[1]);  // NORACE
  return NULL;
}

static void* right(void* arg) {
  cells[1] = 1;  // NORACE
  pthread_barrier_wait(&barrier);
  await(0);
  use(cells[0]);  // RACE!
  return NULL;
}

int main(void) {
  pthread_barrier_init(&barrier, NULL, 2);
  run_two(left, right);
  pthread_barrier_destroy(&barrier);
}
