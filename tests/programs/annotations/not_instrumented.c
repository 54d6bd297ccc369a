// A function that opted out: its accesses are not seen.
// build: tools=deadheat,tsan
#include "program.h"

int statistics, shared;

__attribute__((no_sanitize("thread"), noinline)) static void count(void) {
  statistics += 1;  // NORACE opted out
}

static void* worker(void* arg) {
  count();
  if (!SAFE) shared += 1;  // RACE!
  return NULL;
}

int main(void) { run_two(worker, worker); }
