// dup2 onto a descriptor that another thread closes; others may go on using it.
#define _GNU_SOURCE
#include <fcntl.h>
#include <unistd.h>

#include "program.h"

int shared, spare;

static void* replaces(void* arg) {
  dup2(spare, shared);  // RACE!
  tell(0);
  return NULL;
}

static void* other(void* arg) {
  char byte;
  await(0);
  if (SAFE) {
    use(read(shared, &byte,
             1));  // NORACE the number is never free, the read has one file or the other
  } else {
    close(shared);  // RACE!
  }
  return NULL;
}

int main(void) {
  shared = open("/dev/zero", O_RDONLY);
  spare = open("/dev/null", O_RDONLY);
  run_two(replaces, other);
}
