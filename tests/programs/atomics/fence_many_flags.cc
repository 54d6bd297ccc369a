// One acquire fence covers all the relaxed loads before it; a load after it is not covered.
#include <atomic>

#include "program.h"

std::atomic<int> flags[3];
int data[3];

__attribute__((noinline)) static void publish(int i) {
  data[i] = 1;  // RACE!
  flags[i].store(1, std::memory_order_release);
}

static void* producer(void*) {
  for (int i = 0; i < 3; ++i) publish(i);
  tell(0);
  return nullptr;
}

static void* consumer(void*) {
  await(0);
  use(flags[0].load(std::memory_order_relaxed));
  use(flags[1].load(std::memory_order_relaxed));
  if (SAFE) use(flags[2].load(std::memory_order_relaxed));
  std::atomic_thread_fence(std::memory_order_acquire);
  if (!SAFE) use(flags[2].load(std::memory_order_relaxed));
  use(data[0]);  // NORACE
  use(data[1]);  // NORACE
  use(data[2]);  // RACE!
  return nullptr;
}

int main() { run_two(producer, consumer); }
