// std::jthread joins in its destructor; std::stop_token carries the wish to stop, and order.
// build: std=c++20
#include <thread>

#include "program.h"

int request, result;

int main() {
  {
    std::jthread worker([](std::stop_token stop) {
      while (!stop.stop_requested()) std::this_thread::yield();
      use(request);  // NORACE written before the request to stop
      result = 1;    // RACE!
      tell(0);
    });
    request = 1;
    worker.request_stop();
    await(0);
    if (!SAFE) use(result);  // RACE!
  }
  use(result);  // NORACE joined
}
