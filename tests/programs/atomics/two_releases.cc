// Two releases by read-modify-write add up: the acquirer knows both threads.
#include <atomic>

#include "program.h"

std::atomic<int> done;
int parts[2];

static void* first(void*) {
  parts[0] = 1;  // RACE!
  done.fetch_add(1, SAFE ? std::memory_order_release : std::memory_order_relaxed);
  return nullptr;
}

static void* second(void*) {
  parts[1] = 1;  // NORACE
  done.fetch_add(1, std::memory_order_release);
  return nullptr;
}

int main() {
  pthread_t threads[2];
  pthread_create(&threads[0], nullptr, first, nullptr);
  pthread_create(&threads[1], nullptr, second, nullptr);
  while (done.load(std::memory_order_acquire) != 2) {
  }
  use(parts[0]);  // RACE!
  use(parts[1]);  // NORACE
  pthread_join(threads[0], nullptr);
  pthread_join(threads[1], nullptr);
}
