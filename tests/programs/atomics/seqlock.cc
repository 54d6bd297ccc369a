// A sequence lock whose data are atomics is right; with plain data it races by design.
#include <atomic>

#include "program.h"

std::atomic<unsigned> sequence;
#if SAFE
using Cell = std::atomic<int>;
#else
using Cell = int;
#endif
Cell left, right;

static void* writer(void*) {
  for (int i = 1; i <= 10; ++i) {
    unsigned before = sequence.load(std::memory_order_relaxed);
    sequence.store(before + 1, std::memory_order_relaxed);
    std::atomic_thread_fence(std::memory_order_release);
    if (i == 10) await(0);
    left = i;    // RACE!
    right = -i;  // RACE!
    sequence.store(before + 2, std::memory_order_release);
  }
  return nullptr;
}

static void* reader(void*) {
  unsigned before = sequence.load(std::memory_order_acquire);
  int first = left;    // RACE!
  int second = right;  // RACE!
  use(first + second);
  std::atomic_thread_fence(std::memory_order_acquire);
  use(before == sequence.load(std::memory_order_relaxed));
  tell(0);
  return nullptr;
}

int main() { run_two(writer, reader); }
