// The library calls back into instrumented code while it holds its lock.
// build: plain=plain/hidden_lock.c needs=regions
#include "plain/hidden_lock.h"
#include "program.h"

struct Hidden lock;
int guarded, loose;

static void visit(void* argument) {
  guarded += 1;  // NORACE under the library's lock
}

static void* first(void* arg) {
  hidden_locked_call(&lock, visit, &guarded);
  if (!SAFE) loose += 1;  // RACE!
  tell(0);
  return NULL;
}

static void* second(void* arg) {
  await(0);
  hidden_locked_call(&lock, visit, &guarded);
  loose += 1;  // RACE!
  return NULL;
}

int main(void) { run_two(first, second); }
