// A file that is renamed to its place tells who finds it there; one that is removed, who finds it
// gone; one that only one can create is a lock.
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "program.h"

char folder[] = "/tmp/deadheat.name.XXXXXX";
int published, removed, locked;

static void take(void) {
  int fd;
  while ((fd = open("lock", O_CREAT | O_EXCL | O_WRONLY, 0600)) < 0) sched_yield();
  close(fd);
}

static void* giver(void* arg) {
  if (SAFE) published = 1;
  rename("draft", "final");
  if (!SAFE) published = 2;  // RACE! renamed
  tell(0);
  if (SAFE) removed = 1;
  unlink("marker");
  if (!SAFE) removed = 2;  // RACE! removed
  tell(1);
  if (SAFE) take();
  ++locked;  // RACE! locked
  if (SAFE) unlink("lock");
  return NULL;
}

static void* taker(void* arg) {
  while (access("final", R_OK) != 0) sched_yield();
  await(0);
  use(published);  // RACE! renamed
  while (access("marker", F_OK) == 0) sched_yield();
  await(1);
  use(removed);  // RACE! removed
  if (SAFE) take();
  ++locked;  // RACE! locked
  if (SAFE) unlink("lock");
  return NULL;
}

int main(void) {
  if (mkdtemp(folder) == NULL || chdir(folder) != 0) return 1;
  close(open("draft", O_CREAT | O_WRONLY, 0600));
  close(open("marker", O_CREAT | O_WRONLY, 0600));
  run_two(giver, taker);
  unlink("final");
  rmdir(folder);
}
