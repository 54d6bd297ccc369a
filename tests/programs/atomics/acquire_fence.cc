// An acquire fence turns an earlier relaxed load into an acquire; a fence before the load does not.
#include <atomic>

#include "program.h"

std::atomic<int> ready;
int data;

static void* producer(void*) {
  data = 1;  // RACE!
  ready.store(1, std::memory_order_release);
  tell(0);
  return nullptr;
}

static void* consumer(void*) {
  await(0);
  if (!SAFE) std::atomic_thread_fence(std::memory_order_acquire);
  int seen = ready.load(std::memory_order_relaxed);
  if (SAFE) std::atomic_thread_fence(std::memory_order_acquire);
  if (seen) use(data);  // RACE!
  return nullptr;
}

int main() { run_two(producer, consumer); }
