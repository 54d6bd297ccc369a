// One thread frees what another still reads. Safe: the reader is joined first.
#include <stdlib.h>

#include "program.h"

int* block;

static void* reader(void* arg) {
  use(block[3]);  // RACE!
  tell(0);
  return NULL;
}

int main(void) {
  pthread_t thread;
  block = calloc(8, sizeof *block);
  pthread_create(&thread, NULL, reader, NULL);
  await(0);
  if (!SAFE) free(block);  // RACE!
  pthread_join(thread, NULL);
  if (SAFE) free(block);  // NORACE
}
