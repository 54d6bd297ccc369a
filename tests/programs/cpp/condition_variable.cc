// std::condition_variable with wait_for, and condition_variable_any on a shared lock.
#include <chrono>
#include <condition_variable>
#include <thread>

#include "program.h"

std::mutex lock;
std::condition_variable changed;
std::condition_variable_any any;
bool ready, answered;
int data, unordered;

int main() {
  std::thread producer([] {
    std::unique_lock<std::mutex> hold(lock);
    data = 1;
    ready = true;
    changed.notify_one();
    any.wait(hold, [] { return answered; });
    hold.unlock();
    await(0);
    if (!SAFE) use(unordered);  // RACE!
  });
  std::thread consumer([] {
    std::unique_lock<std::mutex> hold(lock);
    changed.wait_for(hold, std::chrono::hours(1), [] { return ready; });
    use(data);  // NORACE
    answered = true;
    any.notify_all();
    hold.unlock();
    unordered = 1;  // RACE!
    tell(0);
  });
  producer.join();
  consumer.join();
}
