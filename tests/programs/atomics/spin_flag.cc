// A lock made of atomic_flag, and one that forgets to release.
#include <atomic>

#include "program.h"

std::atomic_flag taken = ATOMIC_FLAG_INIT;
int shared;

static void* worker(void*) {
  while (taken.test_and_set(std::memory_order_acquire)) {
  }
  shared += 1;  // RACE!
  taken.clear(SAFE ? std::memory_order_release : std::memory_order_relaxed);
  return nullptr;
}

int main() { run_two(worker, worker); }
