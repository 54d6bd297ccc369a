// The library of library_frees.c: a flag made of builtins that the runtime does not see.
#include <stdlib.h>

static int done;

void block_is_done(void) { __atomic_store_n(&done, 1, __ATOMIC_RELEASE); }

void release_done_block(void* block) {
  while (!__atomic_load_n(&done, __ATOMIC_ACQUIRE)) {
  }
  free(block);
}
