// pthread_tryjoin_np and pthread_timedjoin_np join only when they succeed.
#define _GNU_SOURCE
#include <errno.h>
#include <time.h>

#include "program.h"

int result, late;

static void* worker(void* arg) {
  result = 42;  // RACE! early
  tell(0);
  await(1);
  late = 43;  // NORACE
  return NULL;
}

int main(void) {
  pthread_t thread;
  pthread_create(&thread, NULL, worker, NULL);
  await(0);
  struct timespec past = {1, 0};
  if (pthread_tryjoin_np(thread, NULL) != EBUSY) return 1;
  if (pthread_timedjoin_np(thread, NULL, &past) != ETIMEDOUT) return 2;
  if (!SAFE) use(result);  // RACE! early
  tell(1);
  while (pthread_tryjoin_np(thread, NULL) != 0) sched_yield();
  use(late);  // NORACE joined at last
}
