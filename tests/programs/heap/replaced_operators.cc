// A program that replaces the plain operator new and delete, with memory of its own: their other
// forms (arrays, sizes, nothrow) must come to them.
// build: std=c++17
#include <atomic>
#include <cstdlib>
#include <initializer_list>
#include <new>
#include <thread>

#include "program.h"

static char memory[1 << 20];
static std::atomic<size_t> used;
static std::atomic<int> live;

void* operator new(size_t size) {
  const size_t begin = used.fetch_add((size + 15) / 16 * 16, std::memory_order_relaxed);
  if (begin + size > sizeof memory) throw std::bad_alloc();
  live.fetch_add(1, std::memory_order_relaxed);
  return memory + begin;
}

void operator delete(void* block) noexcept {
  if (block == nullptr) return;
  if (block < (void*)memory || block >= (void*)(memory + sizeof memory)) abort();
  live.fetch_sub(1, std::memory_order_relaxed);
}

struct Big {
  long cells[8];
};

int shared;

static void churn(int number) {
  for (int i = 0; i < 50; ++i) {
    int* one = new int(i);                        // NORACE
    Big* many = new Big[3]();                     // NORACE
    int* perhaps = new (std::nothrow) int[5]{1};  // NORACE
    for (void* made : {(void*)one, (void*)many, (void*)perhaps}) keep(made);
    delete one;
    delete[] many;
    delete[] perhaps;
  }
  if (number == 1) await(0);
  if (!SAFE) shared += 1;  // RACE!
  if (number == 0) tell(0);
}

int main() {
  const int before = live;
  std::thread a(churn, 0), b(churn, 1);
  a.join();
  b.join();
  if (live != before) abort();
}
