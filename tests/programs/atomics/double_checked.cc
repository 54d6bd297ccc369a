// Double-checked locking with a plain pointer, and with an atomic one.
#include <atomic>
#include <mutex>

#include "program.h"

struct Service {
  int port;
};
std::mutex lock;
#if SAFE
std::atomic<Service*> instance;
#else
Service* instance;
#endif

static Service* get() {
  Service* seen = instance;  // RACE! pointer
  if (!seen) {
    std::lock_guard<std::mutex> hold(lock);
    seen = instance;  // NORACE under the lock
    if (!seen) {
      seen = new Service;  // RACE? object
      seen->port = 80;     // RACE! object
      instance = seen;     // RACE! pointer
    }
  }
  return seen;
}

static void* first(void*) {
  use(get()->port);
  tell(0);
  return nullptr;
}

static void* second(void*) {
  await(0);
  Service* service = get();
  use(service->port);  // RACE! object
  return nullptr;
}

int main() { run_two(first, second); }
