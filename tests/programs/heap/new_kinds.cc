// Every operator new: array, nothrow, aligned. Blocks that are used again do not race.
// build: std=c++17
#include <initializer_list>
#include <new>
#include <thread>

#include "program.h"

struct alignas(64) Wide {
  int cells[16];
};

int shared;

static void churn(int number) {
  for (int i = 0; i < 50; ++i) {
    int* one = new int(i);                           // NORACE
    int* many = new int[20]();                       // NORACE
    Wide* wide = new Wide();                         // NORACE
    int* perhaps = new (std::nothrow) int[5]{1, 2};  // NORACE
    for (void* made : {(void*)one, (void*)many, (void*)wide, (void*)perhaps}) keep(made);
    delete one;
    delete[] many;
    delete wide;
    delete[] perhaps;
  }
  if (number == 1) await(0);
  if (!SAFE) shared += 1;  // RACE!
  if (number == 0) tell(0);
}

int main() {
  std::thread a(churn, 0), b(churn, 1);
  a.join();
  b.join();
}
