// The same through stdio: the bytes are there when the buffer is emptied.
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "program.h"

char path[] = "/tmp/deadheat.stream.XXXXXX";
int data, later;

static void* writer(void* arg) {
  FILE* file = fopen(path, "a");
  fprintf(file, "a line\n");
  if (SAFE) data = 1;
  fflush(file);
  if (!SAFE) data = 2;  // RACE! flushed
  tell(0);
  await(2);  // or the reader may see both pieces at once
  fputs("another", file);
  if (SAFE) later = 1;
  fclose(file);
  if (!SAFE) later = 2;  // RACE! closed
  tell(1);
  return NULL;
}

static void* reader(void* arg) {
  FILE* file = fopen(path, "r");
  char text[80];
  while (fgets(text, sizeof text, file) == NULL) {
    clearerr(file);
    sched_yield();
  }
  await(0);
  use(data);  // RACE! flushed
  tell(2);
  while (getc(file) == EOF) {
    clearerr(file);
    sched_yield();
  }
  await(1);
  use(later);  // RACE! closed
  fclose(file);
  return NULL;
}

int main(void) {
  const int fd = mkstemp(path);
  run_two(writer, reader);
  close(fd);
  unlink(path);
}
