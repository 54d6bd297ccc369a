// Figure 1 of the RaceFuzzer paper: x is passed on by y under the lock, z is not. With an argument
// the second thread is not started before the first has finished, in an invisible order: then
// ERROR1 cannot be, and the accesses to x are both made.
#include <cstdlib>
#include <mutex>
#include <thread>

#include "../../programs/invisible.h"

static int x, y, z;
static std::mutex lock;

static void first() {
  x = 1;
  lock.lock();
  y = 1;
  lock.unlock();
  if (z == 1) std::abort();  // ERROR1
  tell(0);
}

static void second() {
  // The race is with line 18.
  z = 1;
  lock.lock();
  const bool seen = y == 1;
  const bool error2 = seen && x != 1;
  lock.unlock();
  if (error2) std::_Exit(2);
}

int main(int count, char**) {
  std::thread a(first);
  if (count > 1) await(0);
  std::thread b(second);
  a.join();
  b.join();
}
