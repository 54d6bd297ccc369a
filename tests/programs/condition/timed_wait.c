// A timed-out wait holds the mutex again, and says nothing else.
#include <errno.h>
#include <time.h>

#include "program.h"

pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t never = PTHREAD_COND_INITIALIZER;
int guarded, unguarded;

static void* writer(void* arg) {
  pthread_mutex_lock(&lock);
  guarded = 1;  // NORACE
  pthread_mutex_unlock(&lock);
  if (!SAFE) unguarded = 1;  // RACE!
  tell(0);
  return NULL;
}

static void* waiter(void* arg) {
  await(0);
  struct timespec past = {1, 0};
  pthread_mutex_lock(&lock);
  while (pthread_cond_timedwait(&never, &lock, &past) != ETIMEDOUT) {
  }
  guarded += 1;  // NORACE
  pthread_mutex_unlock(&lock);
  unguarded = 2;  // RACE!
  return NULL;
}

int main(void) { run_two(writer, waiter); }
