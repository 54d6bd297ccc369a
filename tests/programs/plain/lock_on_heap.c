// The lock is found through a pointer in a heap block that is passed in.
// build: plain=plain/hidden_lock.c needs=regions
#include <stdlib.h>

#include "plain/hidden_lock.h"
#include "program.h"

struct Hidden* lock;

static void* worker(void* arg) {
  hidden_acquire(lock);
  if (SAFE) *(int*)lock->attached += 1;  // NORACE
  hidden_release(lock);
  await(0);
  if (!SAFE) *(int*)lock->attached += 1;  // RACE!
  tell(0);
  return NULL;
}

int main(void) {
  lock = calloc(1, sizeof *lock);
  lock->attached = calloc(1, sizeof(int));
  tell(0);
  run_two(worker, worker);
}
