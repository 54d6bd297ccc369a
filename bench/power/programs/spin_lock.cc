// A lock that is tested and then set, in two steps.
#include <atomic>

#include "bug.h"

namespace {

std::atomic<bool> held;
std::atomic<int> inside;

void Lock() {
  while (held) std::this_thread::yield();
  held = true;
}

void Work() {
  Lock();
  Require(inside.fetch_add(1) == 0, "two have the lock");
  inside.fetch_sub(1);
  held = false;
}

}  // namespace

int main() { RunThreads(Work, Work); }
