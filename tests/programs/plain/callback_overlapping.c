// As callback.c, but the second thread is already waiting inside the library when the first one's
// callback runs, so that no call begins between the two accesses.
// build: plain=plain/hidden_lock.c needs=regions
#include "plain/hidden_lock.h"
#include "program.h"

struct Hidden lock;
int guarded, loose;

static void visit(void* first) {
  if (first) {
    tell(0);
    while (!peek(&lock.waiting)) {
    }
  }
  guarded += 1;  // NORACE under the library's lock
}

static void* first(void* arg) {
  hidden_locked_call(&lock, visit, &lock);
  if (!SAFE) loose += 1;  // RACE!
  tell(1);
  return NULL;
}

static void* second(void* arg) {
  await(0);
  hidden_locked_call(&lock, visit, NULL);
  await(1);
  loose += 1;  // RACE!
  return NULL;
}

int main(void) { run_two(first, second); }
