// A function's static object is constructed once, and that is ordered before every use through the
// function.
#include <atomic>

#include "program.h"

struct Table {
  int rows;
  Table() { rows = 3; }  // RACE!
};

std::atomic<Table*> leaked;

__attribute__((noinline)) static Table& table() {
  static Table instance;
  leaked.store(&instance, std::memory_order_relaxed);
  return instance;
}

static void* first(void*) {
  use(table().rows);  // NORACE
  tell(0);
  return nullptr;
}

static void* second(void*) {
  await(0);
  Table* seen = SAFE ? &table() : leaked.load(std::memory_order_relaxed);
  use(seen->rows);  // RACE!
  return nullptr;
}

int main() { run_two(first, second); }
