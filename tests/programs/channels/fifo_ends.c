// Opening a FIFO for writing waits for a thread that opens it for reading, and the other way round.
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "program.h"

char folder[] = "/tmp/deadheat.fifo.XXXXXX", path[64];
int data, answer;

static void* writer(void* arg) {
  if (SAFE) data = 1;
  const int fd = open(path, O_WRONLY);
  if (!SAFE) data = 2;  // RACE!
  tell(0);
  use(answer);  // NORACE
  close(fd);
  return NULL;
}

static void* reader(void* arg) {
  answer = 1;
  FILE* const file = fopen(path, "r");
  await(0);
  use(data);  // RACE!
  fclose(file);
  return NULL;
}

int main(void) {
  if (mkdtemp(folder) == NULL) abort();
  snprintf(path, sizeof path, "%s/fifo", folder);
  if (mkfifo(path, 0600) != 0) abort();
  run_two(writer, reader);
  unlink(path);
  rmdir(folder);
}
