// C11's cnd_t, mtx_timedlock and mtx_trylock.
// build: std=c11
#include <threads.h>
#include <time.h>

#include "program.h"

mtx_t lock;
cnd_t changed;
int ready, value;

static int producer(void* arg) {
  struct timespec end;
  timespec_get(&end, TIME_UTC);
  end.tv_sec += 3600;
  mtx_timedlock(&lock, &end);
  if (SAFE) value = 1;  // NORACE
  ready = 1;
  cnd_broadcast(&changed);
  mtx_unlock(&lock);
  if (!SAFE) value = 2;  // RACE!
  tell(1);
  return 0;
}

static int consumer(void* arg) {
  while (mtx_trylock(&lock) != thrd_success) thrd_yield();
  while (!ready) cnd_wait(&changed, &lock);
  mtx_unlock(&lock);
  await(1);
  use(value);  // RACE!
  return 0;
}

int main(void) {
  thrd_t a, b;
  mtx_init(&lock, mtx_timed);
  cnd_init(&changed);
  thrd_create(&a, producer, NULL);
  thrd_create(&b, consumer, NULL);
  thrd_join(a, NULL);
  thrd_join(b, NULL);
}
