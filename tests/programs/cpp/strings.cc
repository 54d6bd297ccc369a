// std::string grows in one thread and is read in another; a copy of one's own is fine.
#include <mutex>
#include <string>
#include <thread>

#include "program.h"

std::string text = "short";
std::mutex lock;

int main() {
  std::thread writer([] {
    std::unique_lock<std::mutex> hold(lock, std::defer_lock);
    if (SAFE) hold.lock();
    text[0] = 'S';  // RACE!
    tell(0);
  });
  std::thread reader([] {
    await(0);
    std::unique_lock<std::mutex> hold(lock, std::defer_lock);
    if (SAFE) hold.lock();
    std::string mine = text;  // RACE!
    hold.release();
    if (SAFE) lock.unlock();
    mine += " and long enough for the heap";  // NORACE
    keep(mine.data());
  });
  writer.join();
  reader.join();
}
