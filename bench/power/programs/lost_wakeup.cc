// The flag is looked at before the lock is taken: set and signalled in between, the signal wakes
// nobody, and nobody looks again.
#include <condition_variable>
#include <mutex>

#include "bug.h"

bool ready;

namespace {

std::mutex lock;
std::condition_variable changed;

void Wait() {
  if (ready) return;
  std::unique_lock guard(lock);
  changed.wait(guard);
}

void Set() {
  ready = true;
  changed.notify_one();
}

}  // namespace

int main() { RunThreads(Set, Wait); }
