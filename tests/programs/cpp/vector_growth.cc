// push_back moves the elements while another thread reads one.
#include <mutex>
#include <thread>
#include <vector>

#include "program.h"

std::vector<int> numbers(1, 1);
std::mutex lock;

int main() {
  std::thread reader([] {
    std::unique_lock<std::mutex> hold(lock, std::defer_lock);
    if (SAFE) hold.lock();
    int* first = numbers.data();  // RACE! vector
    use(*first);                  // RACE! element
    tell(0);
  });
  std::thread writer([] {
    await(0);
    std::unique_lock<std::mutex> hold(lock, std::defer_lock);
    if (SAFE) hold.lock();
    numbers.push_back(2);  // RACE! vector // RACE! element
  });
  reader.join();
  writer.join();
}
