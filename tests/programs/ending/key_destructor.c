// A pthread_key destructor runs in the ending thread, before the join.
#include <stdlib.h>

#include "program.h"

pthread_key_t key;
int closed;

static void destroy(void* value) {
  closed += 1;  // RACE!
  free(value);
  tell(0);
}

static void* worker(void* arg) {
  pthread_setspecific(key, malloc(8));
  return NULL;
}

int main(void) {
  pthread_t thread;
  pthread_key_create(&key, destroy);
  pthread_create(&thread, NULL, worker, NULL);
  await(0);
  if (!SAFE) use(closed);  // RACE!
  pthread_join(thread, NULL);
  use(closed);  // NORACE
}
