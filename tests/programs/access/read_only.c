// Any number of readers of data that is no longer written.
#include "program.h"

int table[100], writes;

static void* reader(void* arg) {
  int sum = 0;
  for (int i = 0; i < 100; ++i) sum += table[i];  // NORACE
  use(sum);
  if (!SAFE) writes = sum;  // RACE!
  return NULL;
}

int main(void) {
  for (int i = 0; i < 100; ++i) table[i] = i;
  run_two(reader, reader);
}
