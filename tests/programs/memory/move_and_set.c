// memmove and memset, with the bytes beside them left alone.
// build: flags=-fno-builtin
#include <string.h>

#include "program.h"

char buffer[128];

static void* mover(void* arg) {
  memset(buffer, 0, 32);                 // RACE! set
  memmove(buffer + 64, buffer + 72, 8);  // RACE! move
  tell(0);
  return NULL;
}

static void* user(void* arg) {
  await(0);
  buffer[32] = 1;               // NORACE just behind
  buffer[80] = 1;               // NORACE just behind
  if (!SAFE) use(buffer[31]);   // RACE! set
  if (!SAFE) buffer[79] = 'x';  // RACE! move
  return NULL;
}

int main(void) { run_two(mover, user); }
