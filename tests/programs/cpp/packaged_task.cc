// packaged_task, shared_future and an exception that crosses threads.
#include <future>
#include <stdexcept>
#include <thread>

#include "program.h"

int before, unordered;

int main() {
  std::packaged_task<int()> task([]() -> int {
    before = 1;
    throw std::runtime_error("on purpose");
  });
  std::shared_future<int> future = task.get_future().share();
  std::thread worker([&] {
    task();
    unordered = 1;  // RACE!
    tell(0);
  });
  std::thread other([future] {
    try {
      future.get();
    } catch (const std::runtime_error&) {
      use(before);  // NORACE
    }
    await(0);
    if (!SAFE) unordered = 2;  // RACE!
  });
  worker.join();
  other.join();
}
