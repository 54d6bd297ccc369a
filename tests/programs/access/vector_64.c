// 64 bytes in one instruction, read and written.
// build: flags=-mavx512f,-mprefer-vector-width=512 cpu=avx512f
#include "program.h"

typedef long Vector __attribute__((vector_size(64)));
Vector source[2], target;

static void* worker(void* arg) {
  target = source[0];  // RACE! source // RACE! target
  keep(&target);
  tell(0);
  return NULL;
}

static void* other(void* arg) {
  await(0);
  ((long*)source)[8] = 1;  // NORACE the next one
  if (SAFE) return NULL;
  ((long*)source)[7] = 1;    // RACE! source
  use(((long*)&target)[6]);  // RACE! target
  return NULL;
}

int main(void) { run_two(worker, other); }
