// A signal fence orders a thread with its own handlers, not with other threads.
#include <atomic>

#include "program.h"

std::atomic<int> ready;
int data;

static void fence(std::memory_order order) {
  if (SAFE) {
    std::atomic_thread_fence(order);
  } else {
    std::atomic_signal_fence(order);
  }
}

static void* producer(void*) {
  data = 1;  // RACE!
  fence(std::memory_order_release);
  ready.store(1, std::memory_order_relaxed);
  return nullptr;
}

static void* consumer(void*) {
  while (!ready.load(std::memory_order_relaxed)) {
  }
  fence(std::memory_order_acquire);
  use(data);  // RACE!
  return nullptr;
}

int main() { run_two(producer, consumer); }
