// build: flags=-fopenmp
// The iterations of a loop are unordered, whichever thread gets them and however the library wakes
// its threads; the end of the region is after all of them.
#include "program.h"

int data[64], copy[64], sum;

__attribute__((noinline)) static void add(int value) {
  sum += value;  // RACE!
}

int main(void) {
  for (int i = 0; i < 64; ++i) data[i] = i;  // NORACE
#pragma omp parallel for num_threads(2)
  for (int i = 0; i < 64; ++i) {
    copy[i] = data[i];  // NORACE
    if (!SAFE) add(data[i]);
  }
  for (int i = 0; i < 64; ++i) use(copy[i]);  // NORACE
  use(sum);
}
