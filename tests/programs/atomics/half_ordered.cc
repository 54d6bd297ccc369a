// One side alone is not enough: release without acquire, and acquire without release.
#include <atomic>

#include "program.h"

std::atomic<int> first_ready, second_ready;
int first, second;

static void* producer(void*) {
  first = 1;  // RACE! first
  first_ready.store(1, std::memory_order_release);
  second = 1;  // RACE! second
  second_ready.store(1, SAFE ? std::memory_order_release : std::memory_order_relaxed);
  return nullptr;
}

static void* consumer(void*) {
  while (!first_ready.load(SAFE ? std::memory_order_acquire : std::memory_order_relaxed)) {
  }
  use(first);  // RACE! first
  while (!second_ready.load(std::memory_order_acquire)) {
  }
  use(second);  // RACE! second
  return nullptr;
}

int main() { run_two(producer, consumer); }
