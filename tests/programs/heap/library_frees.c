// A library that is not instrumented frees the program's block, after order that only it knows.
// build: plain=heap/plain_release.c
#include <stdlib.h>

#include "program.h"

// libplain_release.so
void block_is_done(void);
void release_done_block(void* block);

int* block;

static void* writer(void* arg) {
  *block = 1;  // RACE!
  block_is_done();
  tell(0);
  return NULL;
}

static void* owner(void* arg) {
  await(0);
  if (SAFE) {
    release_done_block(block);  // NORACE the library waits for the writer
  } else {
    free(block);  // RACE!
  }
  return NULL;
}

int main(void) {
  block = malloc(sizeof *block);
  run_two(writer, owner);
}
