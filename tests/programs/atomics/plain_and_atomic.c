// One side is atomic, the other is not: a race, by the standard and in fact.
#include <stdatomic.h>

#include "program.h"

int counter;

static void* atomic_side(void* arg) {
  __atomic_fetch_add(&counter, 1, __ATOMIC_SEQ_CST);  // RACE!
  tell(0);
  return NULL;
}

static void* plain_side(void* arg) {
  await(0);
  if (SAFE) {
    use(__atomic_load_n(&counter, __ATOMIC_RELAXED));  // NORACE
  } else {
    use(counter);  // RACE!
  }
  return NULL;
}

int main(void) { run_two(atomic_side, plain_side); }
