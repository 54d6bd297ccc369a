// Peterson's lock for two threads needs sequentially consistent flags; with plain ones it races.
#include <atomic>

#include "program.h"

#if SAFE
std::atomic<int> wants[2], turn;
#else
volatile int wants[2], turn;
#endif
int shared;

static void visit(int me) {
  wants[me] = 1;                             // RACE! wants
  turn = 1 - me;                             // RACE! turn
  while (wants[1 - me] && turn == 1 - me) {  // RACE! wants // RACE? turn
  }
  shared += 1;    // RACE! shared
  wants[me] = 0;  // RACE? wants
}

static void* first(void*) {
  visit(0);
  tell(0);
  return nullptr;
}

static void* second(void*) {
  if (!SAFE) await(0);
  visit(1);
  return nullptr;
}

int main() { run_two(first, second); }
