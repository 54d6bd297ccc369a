// posix_spawn of the program itself; parent and child each have their threads.
#include <spawn.h>
#include <sys/wait.h>

#include "program.h"

extern char** environ;
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
  char* again[] = {argv[0], "again", NULL};
  pid_t child;
  if (posix_spawn(&child, "/proc/self/exe", NULL, NULL, again, environ) != 0) return 1;
  shared = 1;  // NORACE
  waitpid(child, NULL, 0);
}
