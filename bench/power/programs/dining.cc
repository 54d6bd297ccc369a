// Three philosophers, each takes the left fork, then the right one.
#include <mutex>

#include "bug.h"

namespace {

constexpr int kPhilosophers = 3;
std::mutex forks[kPhilosophers];
int eaten[kPhilosophers];

void Dine(int self) {
  std::lock_guard left(forks[self]);
  std::lock_guard right(forks[(self + 1) % kPhilosophers]);
  ++eaten[self];
}

}  // namespace

int main() {
  RunThreads([] { Dine(0); }, [] { Dine(1); }, [] { Dine(2); });
}
