// A lock on a file keeps threads apart that opened it each for itself.
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdlib.h>
#include <sys/file.h>
#include <unistd.h>

#include "program.h"

char path[] = "/tmp/deadheat.lock.XXXXXX";
int by_flock, by_description;

static void* worker(void* arg) {
  const int fd = open(path, O_RDWR);
  struct flock whole = {.l_type = F_WRLCK}, none = {.l_type = F_UNLCK};
  for (int i = 0; i < 50; ++i) {
    if (SAFE) flock(fd, LOCK_EX);
    keep(&by_flock);
    ++by_flock;  // RACE! flock
    if (SAFE) flock(fd, LOCK_UN);
  }
  for (int i = 0; i < 50; ++i) {
    if (SAFE) fcntl(fd, F_OFD_SETLKW, &whole);
    keep(&by_description);
    ++by_description;  // RACE! description
    if (SAFE) fcntl(fd, F_OFD_SETLKW, &none);
  }
  close(fd);
  return NULL;
}

int main(void) {
  const int fd = mkstemp(path);
  run_two(worker, worker);
  close(fd);
  unlink(path);
}
