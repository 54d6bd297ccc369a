// A work-stealing queue whose owner pops without asking for the lock unless it thinks the queue is
// empty. The thief looks at the tail before it moves the head: both may take the last item.
#include <mutex>

#include "bug.h"

int head, tail;

namespace {

constexpr int kItems = 1;
std::mutex lock;
int taken[kItems];

void Owner() {
  for (int i = 0; i < kItems; ++i) {
    int last = tail - 1;
    tail = last;
    if (head > last) {
      std::lock_guard guard(lock);
      tail = last + 1;
      return;
    }
    ++taken[last];
  }
}

void Thief() {
  std::lock_guard guard(lock);
  int first = head;
  if (first >= tail) return;
  head = first + 1;
  ++taken[first];
}

}  // namespace

int main() {
  tail = kItems;
  RunThreads(Thief, Owner);
  for (int count : taken) Require(count <= 1, "an item was taken twice");
}
