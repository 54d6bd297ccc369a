// Accesses of each size, each twice, so that the second finds the first in its cell.
#include "part.h"

__thread char part_own[1 << 16];  // a loaded library has thread-local memory of its own

// The compiler does not know that what follows is at the same place.
#define KEEP __asm__("" : "+r"(data))

void part_store(struct Data* data) {
  for (int turn = 0; turn < 2; ++turn) {
    data->one = 1;
    KEEP;
    data->two = 2;
    KEEP;
    data->four = 4;
    KEEP;
    data->eight = 8;
    KEEP;
    data->sixteen = (Sixteen){1, 6};
    KEEP;
    data->halves[0] = 3;  // the other half of the same eight bytes is the other thread's
    KEEP;
    part_own[turn] = 1;
  }
}

long part_load(struct Data* data) {
  long sum = 0;
  for (int turn = 0; turn < 2; ++turn) {
    sum += data->one;
    KEEP;
    sum += data->two;
    KEEP;
    sum += data->four;
    KEEP;
    sum += data->eight;
    KEEP;
    sum += data->sixteen[1];
    KEEP;
    data->halves[1] = 3;
    KEEP;
    sum += part_own[turn];
  }
  return sum;
}
