// What comes before set_value is ordered before get; what comes after is not.
#include <future>
#include <thread>

#include "program.h"

int before, after;

int main() {
  std::promise<int> promise;
  std::future<int> future = promise.get_future();
  std::thread worker([&] {
    before = 1;
    promise.set_value(1);
    after = 1;  // RACE!
    tell(0);
  });
  future.get();
  use(before);  // NORACE
  await(0);
  if (!SAFE) use(after);  // RACE!
  worker.join();
}
