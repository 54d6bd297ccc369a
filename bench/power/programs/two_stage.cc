// Two-stage access: a value under one lock, what belongs to it under another, and between the two
// nothing holds them together.
#include <mutex>

#include "bug.h"

int value, twice;

namespace {

std::mutex value_lock, twice_lock;

void Write() {
  {
    std::lock_guard guard(value_lock);
    value = 1;
  }
  {
    std::lock_guard guard(twice_lock);
    twice = 2 * value;
  }
}

void Read() {
  int seen;
  {
    std::lock_guard guard(value_lock);
    seen = value;
  }
  if (seen == 0) return;  // not written yet
  std::lock_guard guard(twice_lock);
  Require(twice == 2 * seen, "the second stage is missing");
}

}  // namespace

int main() { RunThreads(Write, Read); }
