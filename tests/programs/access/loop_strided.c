// Loops with gaps: what lies in between belongs to the other thread. One goes down.
#include "program.h"

enum { kTurns = 60 };
struct pair {
  short left, right;
} pairs[kTurns];

static void* first(void* arg) {
  for (int i = 0; i < kTurns; ++i) pairs[i].left = (short)i;  // RACE!
  tell(0);
  return NULL;
}

static void* second(void* arg) {
  await(0);
  for (int i = kTurns - 1; i >= 0; --i) pairs[i].right = 1;  // NORACE
  if (!SAFE) pairs[kTurns / 2].left = 7;                     // RACE!
  return NULL;
}

int main(void) { run_two(first, second); }
