// The access comes after the free and after hundreds of others, in memory that the allocator would
// have given away again at once. What a recorder sees of it depends on the allocator.
// build: both=no
#include <stdlib.h>

#include "program.h"

enum { kFrees = 400, kWords = 8 };
long* block;

static void* releaser(void* arg) {
  await(1);
  if (!SAFE) free(block);  // RACE!
  for (int i = 0; i < kFrees; ++i) {
    long* other = malloc(kWords * sizeof *other);
    keep(other);
    free(other);
  }
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
  block = malloc(kWords * sizeof *block);
  run_two(releaser, writer);
  if (SAFE) free(block);
}
