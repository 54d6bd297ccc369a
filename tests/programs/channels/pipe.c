// A byte through a pipe orders what its sender did before with what its receiver does after.
#include <unistd.h>

#include "program.h"

int ends[2], data;

static void* sender(void* arg) {
  char byte = 1;
  if (SAFE) data = 1;
  if (write(ends[1], &byte, 1) != 1) return NULL;
  if (!SAFE) data = 2;  // RACE!
  tell(0);
  return NULL;
}

static void* receiver(void* arg) {
  char byte;
  if (read(ends[0], &byte, 1) != 1) return NULL;
  await(0);
  use(data);  // RACE!
  return NULL;
}

int main(void) {
  if (pipe(ends) != 0) return 1;
  run_two(sender, receiver);
}
