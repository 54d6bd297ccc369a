// A three-state mutex built from a futex, as C libraries do; racy: one side forgets it.
#include <linux/futex.h>
#include <stdatomic.h>
#include <unistd.h>

#include "program.h"

_Atomic int state;  // 0 free, 1 taken, 2 taken and waited for
int shared;

static void take(void) {
  int expected = 0;
  if (atomic_compare_exchange_strong(&state, &expected, 1)) return;
  while (atomic_exchange(&state, 2) != 0) {
    syscall(SYS_futex, &state, FUTEX_WAIT_PRIVATE, 2, NULL, NULL, 0);
  }
}

static void give(void) {
  if (atomic_exchange(&state, 0) == 2) {
    syscall(SYS_futex, &state, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
  }
}

static void* careful(void* arg) {
  for (int i = 0; i < 100; ++i) {
    take();
    shared += 1;  // RACE!
    give();
  }
  tell(0);
  return NULL;
}

static void* careless(void* arg) {
  if (SAFE) return careful(arg);
  await(0);
  shared += 1;  // RACE!
  return NULL;
}

int main(void) { run_two(careful, careless); }
