// A call through a pointer that another thread changes: the trap comes in the called function.
#include "pair.h"

static long sums[2];
static void first(int i) { sums[0] += i; }
static void second(int i) { sums[1] += i; }
static void (*target)(int) = first;

__attribute__((noinline)) static long call_once(int i) {
  target(i);
  return sums[0] + sums[1];
}

__attribute__((noinline)) static void write_once(int i) { target = i & 1 ? first : second; }

static void* work(void* writes) {
  long sum = 0;
  for (int i = 0; !atomic_fetch_add(&stop, 0); ++i)
    if (writes)
      write_once(i);
    else
      sum += call_once(i);
  return sum == 1 ? writes : 0;
}

int main(int argc, char** argv) { return run_pair(work, argc, argv); }
