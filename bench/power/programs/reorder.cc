// Many threads set two variables, one after the other; one looks at both. It must see none or both
// set, and may see only one. The argument is the number of threads.
#include <vector>

#include "bug.h"

int first, second;

namespace {

void Set() {
  first = 1;
  second = -1;
}

void Check() {
  int a = first;
  int b = second;
  Require(a + b == 0, "only one of the two is set");
}

}  // namespace

int main(int count, char** words) {
  int number = count > 1 ? std::atoi(words[1]) : 3;
  std::vector<std::thread> threads;
  threads.emplace_back(Check);
  while (static_cast<int>(threads.size()) < number) threads.emplace_back(Set);
  for (std::thread& thread : threads) thread.join();
}
