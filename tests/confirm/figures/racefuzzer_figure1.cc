// racefuzzer.txt Figure 1, statement by statement. One race is real, on z, statements 5 and 7.
// Statements 1 and 10 look like one (no common lock), but 10 is reached only after 3, and 3 comes
// after 1 and before 9 under the lock: nothing can bring them together.
// ERROR1 ends with status 11, ERROR2 (which cannot be) with 12.
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <thread>

// Not in the namespace below: compilers would make them narrower.
int x, y, z;

namespace {

std::mutex lock;

[[noreturn]] void error(int number) {
  std::fprintf(stderr, "ERROR%d\n", number);
  std::_Exit(10 + number);
}

void thread1() {
  x = 1;  // NORACE statement 1
  lock.lock();
  y = 1;  // statement 3
  lock.unlock();
  if (z == 1)  // RACE! z, statement 5
    error(1);
}

void thread2() {
  z = 1;  // RACE! z, statement 7
  lock.lock();
  if (y == 1) {    // statement 9
    if (x != 1) {  // NORACE statement 10
      error(2);
    }
  }
  lock.unlock();
}

}  // namespace

int main() {
  std::thread first(thread1);
  std::thread second(thread2);
  first.join();
  second.join();
}
