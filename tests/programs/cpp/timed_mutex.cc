// std::timed_mutex, std::recursive_mutex, std::scoped_lock on two.
// build: std=c++17
#include <chrono>
#include <mutex>
#include <thread>

#include "program.h"

std::timed_mutex timed;
std::recursive_mutex recursive;
std::mutex left, right;
int a, b, c, d;

static void work() {
  if (timed.try_lock_for(std::chrono::hours(1))) {
    a += 1;  // NORACE
    timed.unlock();
  }
  {
    std::lock_guard outer(recursive);
    std::lock_guard inner(recursive);
    b += 1;  // NORACE
  }
  {
    std::scoped_lock both(left, right);
    c += 1;  // NORACE
  }
  if (!SAFE) d += 1;  // RACE!
}

int main() {
  std::thread one(work), two(work);
  one.join();
  two.join();
}
