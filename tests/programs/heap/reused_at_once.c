// A block that was freed is what the next malloc of its size gets, and then begins a new life. Who
// still writes to the old one races with the free, however soon that is.
#include <stdlib.h>

#include "program.h"

// None so large that malloc gives it back to the kernel: without Deadheat's quarantine the write
// would crash.
enum { kSizes = 4 };
static const size_t kSize[kSizes] = {40, 200, 3000, 100000};
char* blocks[kSizes];

static void* releaser(void* arg) {
  await(1);
  for (int i = 0; i < kSizes; ++i) {
    if (!SAFE) free(blocks[i]);  // RACE!
    char* next = malloc(kSize[i]);
    next[0] = 1;  // NORACE it is the releaser's own
    keep(next);
    free(next);
  }
  tell(0);
  return NULL;
}

static void* writer(void* arg) {
  tell(1);
  await(0);
  for (int i = 0; i < kSizes; ++i) blocks[i][32] = 5;  // RACE!
  return NULL;
}

int main(void) {
  for (int i = 0; i < kSizes; ++i) blocks[i] = malloc(kSize[i]);
  run_two(releaser, writer);
  for (int i = 0; SAFE && i < kSizes; ++i) free(blocks[i]);
}
