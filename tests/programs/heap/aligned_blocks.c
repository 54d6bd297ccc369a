// posix_memalign, aligned_alloc, memalign, calloc, reallocarray: all give new memory each time.
#define _GNU_SOURCE
#include <malloc.h>
#include <stdlib.h>

#include "program.h"

int shared;

static void touch(int* block, int count) {
  for (int i = 0; i < count; ++i) block[i] = i;  // NORACE
  keep(block);
}

static void* worker(void* arg) {
  for (int i = 0; i < 50; ++i) {
    void* aligned;
    if (posix_memalign(&aligned, 64, 128) != 0) return NULL;
    int *a = aligned, *b = aligned_alloc(32, 128), *c = memalign(256, 128), *d = calloc(32, 4);
    int *e = reallocarray(NULL, 32, 4), *f = valloc(128);
    int* all[] = {a, b, c, d, e, f};
    for (int j = 0; j < 6; ++j) touch(all[j], 32);
    for (int j = 0; j < 6; ++j) free(all[j]);
  }
  if (!SAFE) shared += 1;  // RACE!
  return NULL;
}

int main(void) { run_two(worker, worker); }
