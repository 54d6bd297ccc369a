// A loop that the compiler turns into vector instructions.
// build: flags=-ftree-vectorize
#include "program.h"

int numbers[256];

static void* doubler(void* arg) {
  for (int i = 0; i < 128; ++i) numbers[i] = numbers[i] * 2;  // RACE!
  tell(0);
  return NULL;
}

static void* other(void* arg) {
  await(0);
  numbers[128] = 1;             // NORACE behind the end
  if (!SAFE) numbers[127] = 1;  // RACE!
  return NULL;
}

int main(void) { run_two(doubler, other); }
