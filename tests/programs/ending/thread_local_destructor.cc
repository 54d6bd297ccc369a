// A thread_local object's destructor is the last thing that its thread does.
#include <thread>

#include "program.h"

int destroyed;

struct Guard {
  int used = 0;
  ~Guard() {
    destroyed = 1;  // RACE!
    tell(0);
  }
};

thread_local Guard guard;

int main() {
  std::thread thread([] { guard.used = 1; });
  await(0);
  if (!SAFE) use(destroyed);  // RACE!
  thread.join();
  use(destroyed);  // NORACE
}
