// A read-modify-write by anybody continues a release sequence, even relaxed; a plain store by
// another thread ends it.
#include <atomic>

#include "program.h"

std::atomic<int> flag;
int data;

static void* middle(void*) {
  await(0);
  if (SAFE) {
    flag.fetch_add(1, std::memory_order_relaxed);
  } else {
    flag.store(2, std::memory_order_relaxed);
  }
  tell(1);
  return nullptr;
}

static void* last(void*) {
  await(1);
  if (flag.load(std::memory_order_acquire) == 2) use(data);  // RACE!
  return nullptr;
}

int main() {
  pthread_t threads[2];
  pthread_create(&threads[0], nullptr, middle, nullptr);
  pthread_create(&threads[1], nullptr, last, nullptr);
  data = 1;  // RACE!
  flag.store(1, std::memory_order_release);
  tell(0);
  pthread_join(threads[0], nullptr);
  pthread_join(threads[1], nullptr);
}
