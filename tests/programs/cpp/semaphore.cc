// std::counting_semaphore and std::binary_semaphore.
// build: std=c++20
#include <semaphore>
#include <thread>

#include "program.h"

std::counting_semaphore<4> filled(0);
std::binary_semaphore gate(1);
int box, guarded;

static void touch() {
  gate.acquire();
  guarded += 1;  // NORACE
  gate.release();
}

int main() {
  std::thread producer([] {
    touch();
    if (SAFE) box = 1;
    filled.release(2);
    if (!SAFE) box = 2;  // RACE!
    tell(0);
  });
  std::thread consumer([] {
    filled.acquire();
    while (!filled.try_acquire()) std::this_thread::yield();
    await(0);
    use(box);  // RACE!
    touch();
  });
  producer.join();
  consumer.join();
}
