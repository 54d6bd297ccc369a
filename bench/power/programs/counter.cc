// Read, modify, write in three steps, by three threads.
#include "bug.h"

int counter;

namespace {

void Count() {
  int seen = counter;
  counter = seen + 1;
}

}  // namespace

int main() {
  RunThreads(Count, Count, Count);
  Require(counter == 3, "a count was lost");
}
