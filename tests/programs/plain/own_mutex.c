// Each thread passes a lock of its own: the calls are unrelated but for the library itself.
// build: plain=plain/hidden_lock.c
#include "plain/hidden_lock.h"
#include "program.h"

struct Hidden locks[2];
int shared;
pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void* first(void* arg) {
  hidden_acquire(&locks[0]);
  if (SAFE) pthread_mutex_lock(&lock);
  shared += 1;  // RACE!
  if (SAFE) pthread_mutex_unlock(&lock);
  tell(0);
  await(1);
  hidden_release(&locks[0]);
  return NULL;
}

static void* second(void* arg) {
  hidden_acquire(&locks[1]);
  await(0);
  if (SAFE) pthread_mutex_lock(&lock);
  shared += 1;  // RACE!
  if (SAFE) pthread_mutex_unlock(&lock);
  tell(1);
  hidden_release(&locks[1]);
  return NULL;
}

int main(void) { run_two(first, second); }
