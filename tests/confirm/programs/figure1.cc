// Figure 1 of the RaceFuzzer paper: x is passed on by y under the lock, z is not.
#include <cstdlib>
#include <mutex>
#include <thread>

static int x, y, z;
static std::mutex lock;

static void first() {
  x = 1;
  lock.lock();
  y = 1;
  lock.unlock();
  if (z == 1) std::abort();  // ERROR1
}

static void second() {
  // The race is with line 14.
  z = 1;
  lock.lock();
  const bool seen = y == 1;
  const bool error2 = seen && x != 1;
  lock.unlock();
  if (error2) std::_Exit(2);
}

int main() {
  std::thread a(first), b(second);
  a.join();
  b.join();
}
