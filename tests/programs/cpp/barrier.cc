// std::barrier with a completion function, which runs between the phases.
// build: std=c++20
#include <barrier>
#include <thread>

#include "program.h"

int parts[2], sum, after;

static void complete() noexcept { sum = parts[0] + parts[1]; }  // NORACE
std::barrier barrier(2, complete);

static void work(int me) {
  for (int phase = 0; phase < 5; ++phase) {
    parts[me] = phase;  // NORACE
    barrier.arrive_and_wait();
    use(sum);  // NORACE
    barrier.arrive_and_wait();
  }
  if (!SAFE) after = me;  // RACE!
}

int main() {
  std::thread a(work, 0), b(work, 1);
  a.join();
  b.join();
}
