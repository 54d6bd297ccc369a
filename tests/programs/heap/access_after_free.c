// The access comes after the free, in another thread, with nothing between them.
#include <stdlib.h>

#include "program.h"

long* block;

static void* releaser(void* arg) {
  await(1);                // the other thread's creation allocates, and would take the block
  if (!SAFE) free(block);  // RACE!
  tell(0);
  return NULL;
}

static void* writer(void* arg) {
  tell(1);
  await(0);
  block[1] = 5;  // RACE!
  return NULL;
}

int main(void) {
  block = malloc(64 * sizeof *block);
  run_two(releaser, writer);
  if (SAFE) free(block);
}
