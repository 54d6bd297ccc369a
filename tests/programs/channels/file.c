// What was written to a file happens before a read that sees it, through another descriptor too.
#include <fcntl.h>
#include <sched.h>
#include <stdlib.h>
#include <unistd.h>

#include "program.h"

char path[] = "/tmp/deadheat.file.XXXXXX";
int data;

static void* writer(void* arg) {
  const int fd = open(path, O_WRONLY | O_APPEND);
  if (SAFE) data = 1;
  if (write(fd, "x", 1) != 1) abort();
  if (!SAFE) data = 2;  // RACE!
  tell(0);
  close(fd);
  return NULL;
}

static void* reader(void* arg) {
  const int fd = open(path, O_RDONLY);
  char byte;
  while (pread(fd, &byte, 1, 0) != 1) sched_yield();
  await(0);
  use(data);  // RACE!
  close(fd);
  return NULL;
}

int main(void) {
  const int fd = mkstemp(path);
  run_two(writer, reader);
  close(fd);
  unlink(path);
}
