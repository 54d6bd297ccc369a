// A failed compare-exchange stores nothing, so it releases nothing.
#include <atomic>

#include "program.h"

std::atomic<int> state{5};
int data;

static void* producer(void*) {
  data = 1;  // RACE!
  int expected = SAFE ? 5 : 0;
  state.compare_exchange_strong(expected, 6, std::memory_order_acq_rel, std::memory_order_acquire);
  tell(0);
  return nullptr;
}

static void* consumer(void*) {
  await(0);
  use(state.load(std::memory_order_acquire));
  use(data);  // RACE!
  return nullptr;
}

int main() { run_two(producer, consumer); }
