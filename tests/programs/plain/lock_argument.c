// The library's lock is an object that both threads pass in. Racy: an access with no call between.
// build: plain=plain/hidden_lock.c needs=regions
#include "plain/hidden_lock.h"
#include "program.h"

struct Hidden lock;
int shared;

static void* worker(void* arg) {
  hidden_acquire(&lock);
  if (SAFE) shared += 1;  // NORACE
  hidden_release(&lock);
  await(0);
  if (!SAFE) shared += 1;  // RACE!
  tell(0);
  return NULL;
}

int main(void) {
  tell(0);
  run_two(worker, worker);
}
