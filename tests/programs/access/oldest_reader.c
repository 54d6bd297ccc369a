// A write races with the first of many reads, by many threads, at one place.
#include "program.h"

enum { kReaders = 3 };
int config;

static void* reader(void* arg) {
  use(config);  // RACE!
  tell(0);
  await(1);
  return NULL;
}

int main(void) {
  pthread_t threads[kReaders];
  for (int i = 0; i < kReaders; ++i) {
    pthread_create(&threads[i], NULL, reader, NULL);
    await(0);
  }
  for (int i = 0; i < kReaders; ++i) tell(1);
  // All but the first are joined: only the oldest read is still concurrent.
  for (int i = SAFE ? 0 : 1; i < kReaders; ++i) pthread_join(threads[i], NULL);
  config = 1;  // RACE!
  if (!SAFE) pthread_join(threads[0], NULL);
}
