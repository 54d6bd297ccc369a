// splice moves data from one pipe to another: who reads them comes after the one who wrote them,
// also when the call had been waiting for them.
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "program.h"

int first[2], second[2];
int data;

static void* writer(void* arg) {
  if (SAFE) data = 1;
  if (write(first[1], "x", 1) != 1) abort();
  if (!SAFE) data = 2;  // RACE!
  tell(0);
  return NULL;
}

static void* middle(void* arg) {
  if (splice(first[0], NULL, second[1], NULL, 1, 0) != 1) abort();
  return NULL;
}

int main(void) {
  if (pipe(first) != 0 || pipe(second) != 0) abort();
  pthread_t threads[2];
  pthread_create(&threads[0], NULL, middle, NULL);
  pthread_create(&threads[1], NULL, writer, NULL);
  char byte;
  if (read(second[0], &byte, 1) != 1) abort();
  await(0);
  use(data);  // RACE!
  for (int i = 0; i < 2; ++i) pthread_join(threads[i], NULL);
}
