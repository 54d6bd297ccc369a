// pthread_spin_lock and pthread_spin_trylock.
#include <errno.h>

#include "program.h"

pthread_spinlock_t lock;
int shared;

static void* holder(void* arg) {
  pthread_spin_lock(&lock);
  shared = 1;  // RACE!
  tell(0);
  await(1);
  pthread_spin_unlock(&lock);
  return NULL;
}

static void* trier(void* arg) {
  await(0);
  int refused = pthread_spin_trylock(&lock) == EBUSY;
  if (!SAFE && refused) shared = 2;  // RACE!
  tell(1);
  while (pthread_spin_trylock(&lock) != 0) sched_yield();
  shared = 3;  // NORACE
  pthread_spin_unlock(&lock);
  return NULL;
}

int main(void) {
  pthread_spin_init(&lock, PTHREAD_PROCESS_PRIVATE);
  run_two(holder, trier);
  pthread_spin_destroy(&lock);
}
