// Two loops over neighbouring parts of an array, one element of which both have.
#include "program.h"

enum { kHalf = 100 };
double cells[2 * kHalf];

static void* writer(void* arg) {
  const int end = SAFE ? kHalf : kHalf + 1;
  for (int i = 0; i < end; ++i) cells[i] = i;  // RACE!
  tell(0);
  return NULL;
}

static void* reader(void* arg) {
  double sum = 0;
  await(0);
  for (int i = kHalf; i < 2 * kHalf - 1; ++i)
    sum += cells[i] +  // RACE!
           cells[i + 1];
  use((int)sum);
  return NULL;
}

int main(void) { run_two(writer, reader); }
