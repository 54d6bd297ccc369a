// Relaxed read-modify-writes do not race with each other, and order nothing else.
#include <stdatomic.h>

#include "program.h"

_Atomic long hits;
long last;

static void* worker(void* arg) {
  for (int i = 0; i < 100; ++i) {
    atomic_fetch_add_explicit(&hits, 1, memory_order_relaxed);  // NORACE
  }
  if (!SAFE) last = hits;  // RACE!
  return NULL;
}

int main(void) { run_two(worker, worker); }
