// Peterson's algorithm with its first two steps exchanged: who gives way before saying that it
// wants in can meet the other inside.
#include <atomic>

#include "bug.h"

namespace {

std::atomic<bool> wants[2];
std::atomic<int> turn;
std::atomic<int> inside;

void Enter(int self) {
  turn = 1 - self;
  wants[self] = true;
  while (wants[1 - self] && turn == 1 - self) std::this_thread::yield();
  Require(inside.fetch_add(1) == 0, "two are inside");
  inside.fetch_sub(1);
  wants[self] = false;
}

}  // namespace

int main() {
  RunThreads([] { Enter(0); }, [] { Enter(1); });
}
