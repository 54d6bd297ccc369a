// A timed or clocked join that succeeds orders as a join does.
#define _GNU_SOURCE
#include <time.h>

#include "program.h"

int first, second;

static void* worker(void* arg) {
  *(int*)arg = 1;  // RACE!
  tell(0);
  return NULL;
}

int main(void) {
  pthread_t a, b;
  struct timespec end;
  clock_gettime(CLOCK_REALTIME, &end);
  end.tv_sec += 3600;
  pthread_create(&a, NULL, worker, &first);
  pthread_create(&b, NULL, worker, &second);
  await(0);
  await(0);
  if (!SAFE) use(first);  // RACE!
  pthread_timedjoin_np(a, NULL, &end);
  pthread_clockjoin_np(b, NULL, CLOCK_REALTIME, &end);
  use(first);   // NORACE
  use(second);  // NORACE
}
