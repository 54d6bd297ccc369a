// std::atomic::wait and notify; atomic_flag's too.
// build: std=c++20
#include <atomic>
#include <thread>

#include "program.h"

std::atomic<int> stage;
std::atomic_flag flag;
int data, later;
constexpr auto kPublish = SAFE ? std::memory_order_release : std::memory_order_relaxed;

int main() {
  std::thread producer([] {
    data = 1;  // RACE!
    stage.store(1, kPublish);
    stage.notify_one();
    flag.wait(false, std::memory_order_acquire);
    use(later);  // NORACE
  });
  std::thread consumer([] {
    stage.wait(0, std::memory_order_acquire);
    use(data);  // RACE!
    later = 1;
    flag.test_and_set(std::memory_order_release);
    flag.notify_all();
  });
  producer.join();
  consumer.join();
}
