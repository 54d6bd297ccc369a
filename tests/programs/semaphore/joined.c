// build: both=no
// A wait for each of three workers: the last one needs the posts of all. With a token too many from
// the start it does not. (A trace does not say how many tokens there were.)
#include <semaphore.h>

#include "program.h"

enum { kWorkers = 3 };

sem_t done;
int parts[kWorkers];

static void* worker(void* arg) {
  parts[(long)arg] = 1;  // RACE!
  sem_post(&done);
  tell(0);
  return NULL;
}

int main(void) {
  sem_init(&done, 0, SAFE ? 0 : 1);
  pthread_t threads[kWorkers];
  for (long i = 0; i < kWorkers; ++i) pthread_create(&threads[i], NULL, worker, (void*)i);
  for (int i = 0; i < kWorkers; ++i) await(0);
  for (int i = 0; i < kWorkers; ++i) sem_wait(&done);
  for (int i = 0; i < kWorkers; ++i) use(parts[i]);  // RACE!
  for (int i = 0; i < kWorkers; ++i) pthread_join(threads[i], NULL);
}
