// A detached thread that has ended does not make main alone: nothing orders its accesses.
#include "program.h"

int value;

static void* worker(void* arg) {
  if (!SAFE) pthread_detach(pthread_self());
  value = 1;  // RACE!
  tell(0);
  return NULL;
}

static void* idle(void* arg) { return NULL; }

int main(void) {
  pthread_t thread, other;
  pthread_create(&thread, NULL, worker, NULL);
  await(0);
  for (int i = 0; i < 50; ++i) {  // by now the worker has ended
    pthread_create(&other, NULL, idle, NULL);
    pthread_join(other, NULL);
  }
  if (SAFE) pthread_join(thread, NULL);
  use(value);  // RACE!
}
