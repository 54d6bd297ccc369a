// Release fence and relaxed store, relaxed load and acquire fence. Broken: the second fence is a
// release.
#include <atomic>

#include "program.h"

std::atomic<int> ready;
int data;

static void* producer(void*) {
  data = 1;  // RACE!
  std::atomic_thread_fence(std::memory_order_release);
  ready.store(1, std::memory_order_relaxed);
  return nullptr;
}

static void* consumer(void*) {
  while (!ready.load(std::memory_order_relaxed)) {
  }
  std::atomic_thread_fence(SAFE ? std::memory_order_acquire : std::memory_order_release);
  use(data);  // RACE!
  return nullptr;
}

int main() { run_two(producer, consumer); }
