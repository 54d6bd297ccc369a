// munmap and mmap at the same place: new memory, though the address was used by another thread.
// A recorder's own mappings may take the place meanwhile.
// build: both=no
#include <sys/mman.h>

#include "program.h"

enum { kSize = 1 << 16 };
char* region;
int shared;

static void* first(void* arg) {
  for (int i = 0; i < kSize; i += 64) region[i] = 1;  // NORACE
  munmap(region, kSize);
  if (!SAFE) shared = 1;  // RACE!
  tell(0);
  return NULL;
}

static void* second(void* arg) {
  await(0);
  char* again = mmap(region, kSize, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
  if (again != region) return NULL;
  for (int i = 0; i < kSize; i += 64) again[i] = 2;  // NORACE
  if (!SAFE) shared = 2;                             // RACE!
  return NULL;
}

int main(void) {
  region = mmap(NULL, kSize, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  run_two(first, second);
}
