// Each thread puts its number into the next free place; two take the same place, and the sum is
// wrong.
#include "bug.h"

int next_free;

namespace {

constexpr int kThreads = 3;
int places[kThreads];

void Put(int number) {
  int mine = next_free;
  next_free = mine + 1;
  places[mine] = number;
}

}  // namespace

int main() {
  RunThreads([] { Put(1); }, [] { Put(2); }, [] { Put(3); });
  int sum = 0;
  for (int number : places) sum += number;
  Require(sum == 6, "a number is missing");
}
