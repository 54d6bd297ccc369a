// The order of a failed compare-exchange is its failure order.
#include <atomic>

#include "program.h"

std::atomic<int> state;
int data;

static void* producer(void*) {
  data = 1;  // RACE!
  state.store(5, std::memory_order_release);
  tell(0);
  return nullptr;
}

static void* consumer(void*) {
  await(0);
  int expected = 0;
  bool swapped =
      state.compare_exchange_strong(expected, 1, std::memory_order_acq_rel,
                                    SAFE ? std::memory_order_acquire : std::memory_order_relaxed);
  if (!swapped && expected == 5) use(data);  // RACE!
  return nullptr;
}

int main() { run_two(producer, consumer); }
