// 300 threads one after the other: their numbers and stacks are used again, and no false race comes
// of it.
#include "program.h"

int total;
_Alignas(8) int early;  // a word of its own: the others' accesses must not push it out

static void* worker(void* arg) {
  int local[64];
  for (int i = 0; i < 64; ++i) local[i] = total + i;  // NORACE one at a time
  keep(local);
  total += 1;  // NORACE
  return NULL;
}

static void* writer(void* arg) {
  early = 1;  // RACE!
  tell(0);
  await(1);
  return NULL;
}

int main(void) {
  pthread_t kept, thread;
  pthread_create(&kept, NULL, writer, NULL);
  await(0);
  for (int i = 0; i < 300; ++i) {
    pthread_create(&thread, NULL, worker, NULL);
    pthread_join(thread, NULL);
  }
  tell(1);
  if (SAFE) pthread_join(kept, NULL);
  use(early);  // RACE!
  if (!SAFE) pthread_join(kept, NULL);
}
