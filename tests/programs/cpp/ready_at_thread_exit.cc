// A future that is ready "at thread exit" comes after the destructors of the thread's variables;
// one that is ready at once does not. The last to let go of the shared state may be the thread.
#include <future>
#include <string>
#include <thread>

#include "program.h"

int data;

struct OfThread {
  int value = 0;
  ~OfThread() {
    await(0);
    data = value;  // RACE!
  }
};
thread_local OfThread of_thread;

static void give(std::promise<std::string> promise) {
  of_thread.value = 1;
#if SAFE
  tell(0);
  promise.set_value_at_thread_exit("a text that does not fit into the object");
#else
  promise.set_value("a text that does not fit into the object");
#endif
}

int main() {
  std::promise<std::string> promise;
  std::future<std::string> future = promise.get_future();
  std::thread thread(give, std::move(promise));
  use(static_cast<int>(future.get().size()));
  use(data);  // RACE!
  tell(0);
  thread.join();
}
