// A fair lock: two counters.
#include <stdatomic.h>

#include "program.h"

_Atomic unsigned next_ticket, now_serving;
int shared;

static void* worker(void* arg) {
  for (int i = 0; i < 50; ++i) {
    unsigned mine = atomic_fetch_add_explicit(&next_ticket, 1, memory_order_relaxed);
    while (atomic_load_explicit(&now_serving, SAFE ? memory_order_acquire : memory_order_relaxed) !=
           mine) {
      sched_yield();
    }
    shared += 1;  // RACE!
    atomic_store_explicit(&now_serving, mine + 1, memory_order_release);
  }
  return NULL;
}

int main(void) { run_two(worker, worker); }
