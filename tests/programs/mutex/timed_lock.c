// pthread_mutex_timedlock: timed out is not locked.
#include <errno.h>
#include <time.h>

#include "program.h"

pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
int shared;

static void* holder(void* arg) {
  pthread_mutex_lock(&lock);
  shared = 1;  // RACE!
  tell(0);
  await(1);
  pthread_mutex_unlock(&lock);
  return NULL;
}

static void* impatient(void* arg) {
  await(0);
  struct timespec past = {1, 0}, end;
  int status = pthread_mutex_timedlock(&lock, &past);
  if (!SAFE && status == ETIMEDOUT) shared = 2;  // RACE!
  tell(1);
  clock_gettime(CLOCK_REALTIME, &end);
  end.tv_sec += 3600;
  if (pthread_mutex_timedlock(&lock, &end) == 0) {
    shared = 3;  // NORACE
    pthread_mutex_unlock(&lock);
  }
  return NULL;
}

int main(void) { run_two(holder, impatient); }
