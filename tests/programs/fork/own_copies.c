// After fork each process has its own copy: the same address in both is no race. The parent's
// threads do race.
#include <sys/wait.h>
#include <unistd.h>

#include "program.h"

int counter;
pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void* worker(void* arg) {
  if (SAFE) pthread_mutex_lock(&lock);
  counter += 1;  // RACE!
  if (SAFE) pthread_mutex_unlock(&lock);
  return NULL;
}

int main(void) {
  pid_t child = fork();
  if (child == 0) {
    counter = 7;  // NORACE
    _exit(0);
  }
  counter = 8;  // NORACE
  run_two(worker, worker);
  waitpid(child, NULL, 0);
}
