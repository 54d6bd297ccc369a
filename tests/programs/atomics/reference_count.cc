// The last owner destroys: the decrement must release, and the last one acquire.
#include <atomic>

#include "program.h"

struct Shared {
  std::atomic<int> owners{2};
  int content = 0;
};

constexpr auto kDrop = SAFE ? std::memory_order_acq_rel : std::memory_order_relaxed;
Shared* object = new Shared;

static void drop() {
  if (object->owners.fetch_sub(1, kDrop) == 1) object->content = -1;  // RACE!
}

static void* first(void*) {
  object->content = 1;  // RACE!
  drop();
  tell(0);
  return nullptr;
}

static void* second(void*) {
  await(0);
  drop();
  return nullptr;
}

int main() { run_two(first, second); }
