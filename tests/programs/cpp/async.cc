// std::async: the future's get is ordered after the whole task.
#include <future>

#include "program.h"

int side_effect;

int main() {
  auto task = std::async(std::launch::async, [] {
    side_effect = 1;  // RACE!
    tell(0);
    return 42;
  });
  await(0);
  if (!SAFE) use(side_effect);  // RACE!
  int value = task.get();
  use(side_effect);  // NORACE
  return value == 42 ? 0 : 1;
}
