// The library's lock is its own global: no argument leads to it.
// build: plain=plain/hidden_lock.c needs=regions
#include "plain/hidden_lock.h"
#include "program.h"

int shared;

static void* worker(void* arg) {
  hidden_global_acquire();
  if (SAFE) shared += 1;  // NORACE
  hidden_global_release();
  await(0);
  if (!SAFE) shared += 1;  // RACE!
  tell(0);
  return NULL;
}

int main(void) {
  tell(0);
  run_two(worker, worker);
}
