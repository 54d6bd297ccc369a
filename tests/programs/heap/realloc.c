// realloc writes (and may free) the block: an access by another thread races with it.
#include <stdlib.h>

#include "program.h"

char* text;

static void* writer(void* arg) {
  text[5] = 'x';  // RACE!
  tell(0);
  return NULL;
}

int main(void) {
  pthread_t thread;
  text = malloc(32);
  pthread_create(&thread, NULL, writer, NULL);
  await(0);
  if (SAFE) pthread_join(thread, NULL);
  char* grown = realloc(text, 1 << 16);  // RACE!
  if (!SAFE) pthread_join(thread, NULL);
  use(grown[5]);  // NORACE
  free(grown);
}
