// 32 bytes in one instruction.
// build: flags=-mavx cpu=avx
#include "program.h"

typedef long Vector __attribute__((vector_size(32)));
Vector shared[2];

static void* writer(void* arg) {
  Vector ones = {1, 1, 1, 1};
  shared[0] = ones;  // RACE!
  tell(0);
  return NULL;
}

static void* reader(void* arg) {
  await(0);
  use(((long*)shared)[4]);             // NORACE the next one
  if (!SAFE) use(((long*)shared)[3]);  // RACE!
  return NULL;
}

int main(void) { run_two(writer, reader); }
