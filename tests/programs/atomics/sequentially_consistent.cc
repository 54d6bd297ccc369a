// The default order, a consume load, and exchange.
#include <atomic>

#include "program.h"

std::atomic<int*> published;
std::atomic<int> turn;
int payload, other;

static void* producer(void*) {
  payload = 1;  // NORACE
  published.store(&payload);
  other = 1;  // RACE!
  turn.exchange(1, SAFE ? std::memory_order_acq_rel : std::memory_order_acquire);
  return nullptr;
}

static void* consumer(void*) {
  int* seen;
  while (!(seen = published.load(std::memory_order_consume))) {
  }
  use(*seen);  // NORACE carried by the pointer
  while (turn.load(std::memory_order_seq_cst) == 0) {
  }
  use(other);  // RACE!
  return nullptr;
}

int main() { run_two(producer, consumer); }
