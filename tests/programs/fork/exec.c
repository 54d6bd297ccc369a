// The program replaces itself; the race is in the new image.
#include <stdio.h>
#include <unistd.h>

#include "program.h"

int shared;
pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void* worker(void* arg) {
  if (SAFE) pthread_mutex_lock(&lock);
  shared += 1;  // RACE!
  if (SAFE) pthread_mutex_unlock(&lock);
  return NULL;
}

int main(int argc, char** argv) {
  if (argc > 1) {
    run_two(worker, worker);
    return 0;
  }
  shared = 1;  // NORACE
  char* again[] = {argv[0], "again", NULL};
  execv("/proc/self/exe", again);
  perror("execv");
  return 1;
}
