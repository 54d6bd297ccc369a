// A local variable whose address another thread has is shared like any other.
#include "program.h"

static void* worker(void* arg) {
  *(int*)arg = 1;  // RACE!
  tell(0);
  return NULL;
}

int main(void) {
  int local = 0;
  pthread_t thread;
  pthread_create(&thread, NULL, worker, &local);
  await(0);
  if (!SAFE) local = 2;  // RACE!
  pthread_join(thread, NULL);
  use(local);  // NORACE
}
