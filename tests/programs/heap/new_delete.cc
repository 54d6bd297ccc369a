// delete against a use in another thread; the safe one hands the object over.
#include <future>

#include "program.h"

struct Session {
  int requests = 0;
  long padding[3];
};

int main() {
  auto* session = new Session;
  std::promise<void> idle;
  std::future<void> is_idle = idle.get_future();
  std::thread server([&] {
    session->requests += 1;  // RACE!
    if (SAFE) idle.set_value();
    tell(0);
  });
  await(0);
  if (SAFE) is_idle.wait();
  delete session;  // RACE!
  server.join();
}
