// A bounded buffer with one condition variable for both ends and notify_one: the one that is woken
// may be of the wrong kind, and then no thread is woken any more.
#include <condition_variable>
#include <mutex>

#include "bug.h"

int items;

namespace {

constexpr int kCapacity = 1;
std::mutex lock;
std::condition_variable changed;

void Put() {
  std::unique_lock guard(lock);
  changed.wait(guard, [] { return items < kCapacity; });
  ++items;
  changed.notify_one();
}

void Take() {
  std::unique_lock guard(lock);
  changed.wait(guard, [] { return items > 0; });
  --items;
  changed.notify_one();
}

}  // namespace

int main() { RunThreads(Take, Put, Take, Put); }
