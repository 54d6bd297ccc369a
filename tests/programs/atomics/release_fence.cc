// A release fence makes a later relaxed store publish; the store must come after the fence.
#include <atomic>

#include "program.h"

std::atomic<int> ready;
int data;

static void* producer(void*) {
  if (SAFE) data = 1;
  std::atomic_thread_fence(std::memory_order_release);
  if (!SAFE) data = 2;  // RACE!
  ready.store(1, std::memory_order_relaxed);
  return nullptr;
}

static void* consumer(void*) {
  while (!ready.load(std::memory_order_acquire)) {
  }
  use(data);  // RACE!
  return nullptr;
}

int main() { run_two(producer, consumer); }
