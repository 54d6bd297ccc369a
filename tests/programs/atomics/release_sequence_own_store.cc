// build: std=c++20 needs=pass
// Since C++20 a relaxed store ends the release sequence even if the same thread made it.
#include <atomic>

#include "program.h"

std::atomic<int> flag;
int data;

static void* producer(void*) {
  data = 1;  // RACE!
  flag.store(1, std::memory_order_release);
  if (SAFE) {
    flag.fetch_add(1, std::memory_order_relaxed);
  } else {
    flag.store(2, std::memory_order_relaxed);
  }
  tell(0);
  return nullptr;
}

static void* consumer(void*) {
  await(0);
  if (flag.load(std::memory_order_acquire) == 2) use(data);  // RACE!
  return nullptr;
}

int main() { run_two(producer, consumer); }
