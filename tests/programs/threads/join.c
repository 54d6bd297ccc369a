// The joiner knows all that the thread did; before the join it knows nothing.
#include "program.h"

int result;

static void* worker(void* arg) {
  result = 42;  // RACE!
  tell(0);
  return NULL;
}

int main(void) {
  pthread_t thread;
  pthread_create(&thread, NULL, worker, NULL);
  await(0);
  if (!SAFE) use(result);  // RACE!
  pthread_join(thread, NULL);
  use(result);  // NORACE after the join
}
