// A release store replaces what an earlier release by another thread published.
#include <atomic>

#include "program.h"

std::atomic<int> flag;
int first_data, second_data;

static void* first(void*) {
  first_data = 1;  // RACE!
  flag.store(1, std::memory_order_release);
  tell(0);
  return nullptr;
}

static void* second(void*) {
  await(0);
  second_data = 1;  // NORACE
  if (SAFE) {
    flag.exchange(2, std::memory_order_acq_rel);
  } else {
    flag.store(2, std::memory_order_release);
  }
  tell(1);
  return nullptr;
}

static void* last(void*) {
  await(1);
  if (flag.load(std::memory_order_acquire) != 2) return nullptr;
  use(second_data);  // NORACE
  use(first_data);   // RACE!
  return nullptr;
}

int main() {
  pthread_t thread;
  pthread_create(&thread, nullptr, last, nullptr);
  run_two(first, second);
  pthread_join(thread, nullptr);
}
