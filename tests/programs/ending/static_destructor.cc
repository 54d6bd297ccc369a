// Global objects are destroyed by the main thread while a detached thread still uses them.
#include <thread>

#include "program.h"

pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

struct Cache {
  int entries = 1;
  ~Cache() {
    if (SAFE) pthread_mutex_lock(&lock);
    entries = 0;  // RACE!
    keep(this);
    if (SAFE) pthread_mutex_unlock(&lock);
  }
} cache;

int main() {
  std::thread([] {
    if (SAFE) pthread_mutex_lock(&lock);
    cache.entries += 1;  // RACE!
    if (SAFE) pthread_mutex_unlock(&lock);
    tell(0);
    await(1);
  }).detach();
  await(0);
}
