// A 16-byte vector store and a byte in its upper half.
#include "program.h"

typedef int Vector __attribute__((vector_size(16)));
Vector shared[2];

static void* writer(void* arg) {
  Vector ones = {1, 1, 1, 1};
  shared[0] = ones;  // RACE!
  tell(0);
  return NULL;
}

static void* reader(void* arg) {
  await(0);
  use(((int*)shared)[4]);             // NORACE the next one
  if (!SAFE) use(((int*)shared)[3]);  // RACE!
  return NULL;
}

int main(void) { run_two(writer, reader); }
