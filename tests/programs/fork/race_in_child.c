// Threads of a forked child are watched like the parent's.
#include <sys/wait.h>
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

int main(void) {
  pid_t child = fork();
  if (child == 0) {
    run_two(worker, worker);
    return 0;
  }
  shared = 1;  // NORACE the parent's own memory
  waitpid(child, NULL, 0);
}
