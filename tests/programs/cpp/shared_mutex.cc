// std::shared_mutex and std::shared_timed_mutex.
// build: std=c++17
#include <chrono>
#include <mutex>
#include <shared_mutex>
#include <thread>

#include "program.h"

std::shared_mutex lock;
std::shared_timed_mutex timed;
int table, other;

int main() {
  std::thread writer([] {
    std::unique_lock hold(lock);
    table = 1;  // RACE!
    std::unique_lock patient(timed, std::chrono::hours(1));
    other = 1;  // NORACE
  });
  std::thread reader([] {
    std::shared_lock hold(lock, std::defer_lock);
    if (SAFE) hold.lock();
    use(table);  // RACE!
    std::shared_lock patient(timed, std::chrono::hours(1));
    use(other);  // NORACE
  });
  writer.join();
  reader.join();
}
