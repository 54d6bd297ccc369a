// Data behind a flag: release and acquire order it, relaxed does not.
#include <atomic>

#include "program.h"

std::atomic<int> ready;
int data;

static void* producer(void*) {
  data = 1;  // RACE!
  ready.store(1, SAFE ? std::memory_order_release : std::memory_order_relaxed);
  return nullptr;
}

static void* consumer(void*) {
  while (!ready.load(SAFE ? std::memory_order_acquire : std::memory_order_relaxed)) {
  }
  use(data);  // RACE!
  return nullptr;
}

int main() { run_two(producer, consumer); }
