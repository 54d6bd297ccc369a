// The same thread-local name in two threads is two objects; the static beside it is one.
#include "program.h"

static __thread int own[4];
static int shared;

static void* worker(void* arg) {
  for (int i = 0; i < 4; ++i) own[i] += i;  // NORACE
  keep(own);
  if (!SAFE) shared += own[1];  // RACE!
  keep(&shared);
  return NULL;
}

int main(void) { run_two(worker, worker); }
