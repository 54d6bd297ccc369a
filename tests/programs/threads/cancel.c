// A cancelled thread's clean-up handlers run in that thread, and end before the join returns.
#include <unistd.h>

#include "program.h"

int cleaned;

static void clean_up(void* arg) {
  cleaned = 1;  // RACE!
  tell(1);
}

static void* worker(void* arg) {
  pthread_cleanup_push(clean_up, NULL);
  tell(0);
  for (;;) pause();
  pthread_cleanup_pop(0);
  return NULL;
}

int main(void) {
  pthread_t thread;
  void* value;
  pthread_create(&thread, NULL, worker, NULL);
  await(0);
  pthread_cancel(thread);
  await(1);
  if (!SAFE) use(cleaned);  // RACE!
  pthread_join(thread, &value);
  use(cleaned);  // NORACE
  return value == PTHREAD_CANCELED ? 0 : 1;
}
