// Everybody takes a lock, but not the same one.
#include <mutex>

#include "bug.h"

int data;

namespace {

std::mutex data_lock, other_lock;

void Add(std::mutex& lock) {
  std::lock_guard guard(lock);
  int seen = data;
  data = seen + 1;
}

}  // namespace

int main() {
  RunThreads([] { Add(data_lock); }, [] { Add(data_lock); }, [] { Add(other_lock); });
  Require(data == 3, "an addition was lost");
}
