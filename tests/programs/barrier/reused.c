// One barrier for 20 rounds. A round's writes are ordered before the next round's reads, not among
// themselves.
#include "program.h"

pthread_barrier_t barrier;
int cells[2][2], extra;

static void work(int me) {
  for (int round = 0; round < 20; ++round) {
    cells[round % 2][me] = round;  // NORACE
    pthread_barrier_wait(&barrier);
    use(cells[round % 2][1 - me]);         // NORACE
    if (!SAFE && round == 19) extra = me;  // RACE!
  }
}

static void* left(void* arg) {
  work(0);
  return NULL;
}

static void* right(void* arg) {
  work(1);
  return NULL;
}

int main(void) {
  pthread_barrier_init(&barrier, NULL, 2);
  run_two(left, right);
  pthread_barrier_destroy(&barrier);
}
