// Each thread has its half of an array; one goes one too far.
#include "program.h"

enum { kHalf = 50 };
int numbers[2 * kHalf];

static void* lower(void* arg) {
  for (int i = 0; i < kHalf + (SAFE ? 0 : 1); ++i) numbers[i] += i;  // RACE!
  tell(0);
  return NULL;
}

static void* upper(void* arg) {
  await(0);
  for (int i = kHalf; i < 2 * kHalf; ++i) numbers[i] += i;  // RACE!
  return NULL;
}

int main(void) { run_two(lower, upper); }
