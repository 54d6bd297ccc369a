// A handler registered by one thread and run by another is ordered after its registration.
#include <stdlib.h>

#include "program.h"

int before, after;

static void handler(void) {
  use(before);            // NORACE
  if (!SAFE) use(after);  // RACE!
}

static void* worker(void* arg) {
  before = 1;
  atexit(handler);
  after = 1;  // RACE!
  tell(0);
  await(1);
  return NULL;
}

int main(void) {
  pthread_t thread;
  pthread_create(&thread, NULL, worker, NULL);
  pthread_detach(thread);
  await(0);
  return 0;
}
