// A hand-made reader/writer lock: the writer waits until there are no readers, and nothing keeps
// new ones out while it writes.
#include <mutex>

#include "bug.h"

int value, copy;

namespace {

std::mutex lock;
int readers;

void CountReaders(int change) {
  std::lock_guard guard(lock);
  readers += change;
}

bool AnyReaders() {
  std::lock_guard guard(lock);
  return readers > 0;
}

void Read() {
  CountReaders(1);
  int a = value;
  int b = copy;
  Require(a == b, "read in the middle of a write");
  CountReaders(-1);
}

void Write() {
  while (AnyReaders()) std::this_thread::yield();
  value = 1;
  copy = 1;
}

}  // namespace

int main() { RunThreads(Write, Read); }
