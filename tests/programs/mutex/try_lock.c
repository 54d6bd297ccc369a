// A successful trylock orders; a failed one gives no right to touch the data.
#include <errno.h>

#include "program.h"

pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
int shared;

static void* holder(void* arg) {
  pthread_mutex_lock(&lock);
  shared = 1;  // RACE!
  tell(0);
  await(1);
  pthread_mutex_unlock(&lock);
  tell(2);
  return NULL;
}

static void* trier(void* arg) {
  await(0);
  int status = pthread_mutex_trylock(&lock);
  if (!SAFE && status == EBUSY) shared = 2;  // RACE!
  tell(1);
  await(2);
  if (pthread_mutex_trylock(&lock) == 0) {
    shared = 3;  // NORACE
    pthread_mutex_unlock(&lock);
  }
  return NULL;
}

int main(void) { run_two(holder, trier); }
