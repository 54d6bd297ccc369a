// Two locks, taken in two orders.
#include <mutex>

#include "bug.h"

namespace {

std::mutex from, to;
int moved;

void There() {
  std::lock_guard first(from);
  std::lock_guard second(to);
  ++moved;
}

void Back() {
  std::lock_guard first(to);
  std::lock_guard second(from);
  --moved;
}

}  // namespace

int main() { RunThreads(There, Back); }
