// The woken thread frees the condition while the call that woke it still uses it.
#include <stdlib.h>

#include "program.h"

struct Job {
  pthread_mutex_t lock;
  pthread_cond_t finished;
  int done;
};
struct Job* job;

static void* waiter(void* arg) {
  struct Job* mine = job;
  pthread_mutex_lock(&mine->lock);
  tell(0);
  while (!mine->done) pthread_cond_wait(&mine->finished, &mine->lock);
  pthread_mutex_unlock(&mine->lock);
  await(1);
  free(mine);  // RACE!
  return NULL;
}

static void* worker(void* arg) {
  struct Job* mine = job;
  await(0);
  pthread_mutex_lock(&mine->lock);
  mine->done = 1;
  if (SAFE) pthread_cond_signal(&mine->finished);  // NORACE the unlock comes after it
  pthread_mutex_unlock(&mine->lock);
  if (!SAFE) pthread_cond_signal(&mine->finished);  // RACE!
  tell(1);
  return NULL;
}

int main(void) {
  job = malloc(sizeof *job);
  pthread_mutex_init(&job->lock, NULL);
  pthread_cond_init(&job->finished, NULL);
  job->done = 0;
  run_two(waiter, worker);
}
