// A woken thread takes without checking again: in between another one may have taken.
#include <condition_variable>
#include <mutex>

#include "bug.h"

int items;

namespace {

std::mutex lock;
std::condition_variable changed;

void Put() {
  std::lock_guard guard(lock);
  ++items;
  changed.notify_all();
}

void Take() {
  std::unique_lock guard(lock);
  if (items == 0) changed.wait(guard);
  --items;
  Require(items >= 0, "taken from an empty store");
}

}  // namespace

int main() { RunThreads(Put, Take, Put, Take); }
