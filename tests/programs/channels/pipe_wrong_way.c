// Reading from a pipe orders the reader after the writer, not the writer after the reader.
#include <unistd.h>

#include "program.h"

int ends[2], data;

static void* sender(void* arg) {
  char byte = 1;
  if (write(ends[1], &byte, 1) != 1) return NULL;
  await(0);
  if (!SAFE) use(data);  // RACE!
  return NULL;
}

static void* receiver(void* arg) {
  char byte;
  if (read(ends[0], &byte, 1) != 1) return NULL;
  data = 1;  // RACE!
  tell(0);
  return NULL;
}

int main(void) {
  if (pipe(ends) != 0) return 1;
  run_two(sender, receiver);
}
