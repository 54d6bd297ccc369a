// A named semaphore as a lock.
#include <fcntl.h>
#include <semaphore.h>
#include <stdio.h>
#include <unistd.h>

#include "program.h"

sem_t* gate;
int shared;

static void* worker(void* arg) {
  if (SAFE) sem_wait(gate);
  shared += 1;  // RACE!
  if (SAFE) sem_post(gate);
  return NULL;
}

int main(void) {
  char name[64];
  snprintf(name, sizeof name, "/deadheat-programs-%d", (int)getpid());
  gate = sem_open(name, O_CREAT | O_EXCL, 0600, 1);
  if (gate == SEM_FAILED) return 1;
  sem_unlink(name);
  run_two(worker, worker);
  sem_close(gate);
}
