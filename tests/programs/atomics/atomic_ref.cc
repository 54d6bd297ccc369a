// std::atomic_ref makes a plain object atomic while it is used so.
// build: std=c++20
#include <atomic>

#include "program.h"

int ready, data;

static void* producer(void*) {
  data = 1;                                                         // NORACE
  std::atomic_ref<int>(ready).store(1, std::memory_order_release);  // RACE!
  tell(0);
  return nullptr;
}

static void* consumer(void*) {
  await(0);
  if (!SAFE) use(ready);  // RACE!
  while (!std::atomic_ref<int>(ready).load(std::memory_order_acquire)) {
  }
  use(data);  // NORACE
  return nullptr;
}

int main() { run_two(producer, consumer); }
