// Cancelled inside pthread_cond_wait: the mutex is held again when the clean-up handler runs.
#include "program.h"

pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t never = PTHREAD_COND_INITIALIZER;
int guarded, unguarded;

static void clean_up(void* arg) {
  guarded += 1;  // NORACE under the lock
  pthread_mutex_unlock(&lock);
  if (!SAFE) unguarded += 1;  // RACE!
  tell(1);
}

static void* waiter(void* arg) {
  pthread_mutex_lock(&lock);
  pthread_cleanup_push(clean_up, NULL);
  tell(0);
  for (;;) pthread_cond_wait(&never, &lock);
  pthread_cleanup_pop(0);
  return NULL;
}

int main(void) {
  pthread_t thread;
  pthread_create(&thread, NULL, waiter, NULL);
  await(0);
  pthread_mutex_lock(&lock);
  guarded = 5;  // NORACE
  pthread_mutex_unlock(&lock);
  pthread_cancel(thread);
  await(1);
  if (!SAFE) unguarded = 6;  // RACE!
  pthread_join(thread, NULL);
}
