// Sequentially consistent fences on both sides; broken: one of them is missing.
#include <atomic>

#include "program.h"

std::atomic<int> ready;
int data;

static void* producer(void*) {
  data = 1;  // RACE!
  if (SAFE) std::atomic_thread_fence(std::memory_order_seq_cst);
  ready.fetch_add(1, std::memory_order_relaxed);
  return nullptr;
}

static void* consumer(void*) {
  while (!ready.load(std::memory_order_relaxed)) {
  }
  std::atomic_thread_fence(std::memory_order_seq_cst);
  use(data);  // RACE!
  return nullptr;
}

int main() { run_two(producer, consumer); }
