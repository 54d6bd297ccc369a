// Joining one thread says nothing about another.
#include "program.h"

int result;

static void* worker(void* arg) {
  result = 42;  // RACE!
  tell(0);
  return NULL;
}

static void* idle(void* arg) { return NULL; }

int main(void) {
  pthread_t threads[2];
  pthread_create(&threads[0], NULL, worker, NULL);
  pthread_create(&threads[1], NULL, idle, NULL);
  await(0);
  pthread_join(threads[SAFE ? 0 : 1], NULL);
  use(result);  // RACE!
  pthread_join(threads[SAFE ? 1 : 0], NULL);
}
