// All waiters are released by one broadcast; they are not ordered among themselves afterwards.
#include "program.h"

pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t start = PTHREAD_COND_INITIALIZER;
int started, waiting, input, output;

static void* worker(void* arg) {
  pthread_mutex_lock(&lock);
  waiting += 1;
  while (!started) pthread_cond_wait(&start, &lock);
  if (SAFE) output += 1;
  pthread_mutex_unlock(&lock);
  use(input);  // NORACE written before the broadcast
  tell(0);
  await(1);
  if (!SAFE) output += 1;  // RACE!
  tell(2);
  return NULL;
}

int main(void) {
  pthread_t threads[3];
  for (int i = 0; i < 3; ++i) pthread_create(&threads[i], NULL, worker, NULL);
  input = 1;
  pthread_mutex_lock(&lock);
  started = 1;
  pthread_cond_broadcast(&start);
  pthread_mutex_unlock(&lock);
  for (int i = 0; i < 3; ++i) await(0);
  for (int i = 0; i < 3; ++i) {
    tell(1);
    await(2);
  }
  for (int i = 0; i < 3; ++i) pthread_join(threads[i], NULL);
}
