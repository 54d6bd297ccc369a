// std::latch: count_down is ordered before wait returns.
// build: std=c++20
#include <latch>
#include <thread>

#include "program.h"

std::latch ready(2);
int parts[2];

static void work(int me) {
  if (SAFE || me == 1) parts[me] = 1;  // NORACE
  ready.count_down();
  if (!SAFE && me == 0) parts[me] = 1;  // RACE!
  tell(0);
}

int main() {
  std::thread a(work, 0), b(work, 1);
  ready.wait();
  await(0);
  await(0);
  use(parts[0]);  // RACE!
  use(parts[1]);  // NORACE
  a.join();
  b.join();
}
