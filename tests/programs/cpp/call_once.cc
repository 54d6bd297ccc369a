// std::call_once.
#include <mutex>
#include <thread>

#include "program.h"

std::once_flag once;
int table;

static void fill() { table = 1; }  // RACE!

int main() {
  std::thread first([] {
    std::call_once(once, fill);
    tell(0);
  });
  std::thread second([] {
    await(0);
    if (SAFE) std::call_once(once, fill);
    use(table);  // RACE!
  });
  first.join();
  second.join();
}
