// std::thread and std::mutex.
#include <mutex>
#include <thread>

#include "program.h"

int total;
std::mutex lock;

static void add(int amount) {
  std::unique_lock<std::mutex> hold(lock, std::defer_lock);
  if (SAFE) hold.lock();
  total += amount;  // RACE!
}

int main() {
  std::thread a(add, 1), b(add, 2);
  a.join();
  b.join();
  use(total);  // NORACE
}
