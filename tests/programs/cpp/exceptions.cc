// Unwinding leaves functions without their exits; locks taken by guards are given back on the way.
#include <mutex>
#include <stdexcept>
#include <thread>

#include "program.h"

std::mutex lock;
int guarded, after;

__attribute__((noinline)) static void fail(int depth) {
  std::lock_guard<std::mutex> hold(lock);
  guarded += depth;  // NORACE
  throw std::runtime_error("on purpose");
}

static void work() {
  for (int i = 0; i < 20; ++i) {
    try {
      fail(i);
    } catch (const std::runtime_error&) {
      keep(&guarded);
    }
  }
  if (!SAFE) after += 1;  // RACE!
}

int main() {
  std::thread a(work), b(work);
  a.join();
  b.join();
}
