// pthread_atfork handlers take the lock over the fork; the child's accesses stay ordered.
#include <sys/wait.h>
#include <unistd.h>

#include "program.h"

int shared, forks;
pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void prepare(void) {
  pthread_mutex_lock(&lock);
  forks += 1;  // NORACE
}
static void release(void) { pthread_mutex_unlock(&lock); }

static void* worker(void* arg) {
  pthread_mutex_lock(&lock);
  forks += 1;  // NORACE
  if (SAFE) shared += 1;
  pthread_mutex_unlock(&lock);
  if (!SAFE) shared += 1;  // RACE!
  return NULL;
}

int main(void) {
  pthread_atfork(prepare, release, release);
  pid_t child = fork();
  if (child == 0) {
    pthread_t a, b;
    pthread_create(&a, NULL, worker, NULL);
    pthread_create(&b, NULL, worker, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    _exit(0);
  }
  waitpid(child, NULL, 0);
}
