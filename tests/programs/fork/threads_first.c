// The parent has threads when it forks: the child goes on alone, then makes threads of its own.
#include <sys/wait.h>
#include <unistd.h>

#include "program.h"

int shared, inherited;
pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void* bystander(void* arg) {
  inherited = 1;  // NORACE in the child that thread is no more
  tell(0);
  await(1);
  return NULL;
}

static void* worker(void* arg) {
  if (SAFE) pthread_mutex_lock(&lock);
  shared += 1;  // RACE!
  if (SAFE) pthread_mutex_unlock(&lock);
  return NULL;
}

int main(void) {
  pthread_t thread;
  pthread_create(&thread, NULL, bystander, NULL);
  await(0);
  pid_t child = fork();
  if (child == 0) {
    inherited = 2;  // NORACE a copy
    run_two(worker, worker);
    return 0;
  }
  tell(1);
  waitpid(child, NULL, 0);
  pthread_join(thread, NULL);
}
