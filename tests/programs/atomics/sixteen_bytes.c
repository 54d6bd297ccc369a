// 16-byte atomics order like the others; beside them, a plain access to their upper half races.
// build: flags=-mcx16 libs=-latomic cpu=cx16
#include "program.h"

typedef unsigned __int128 Wide;
_Alignas(16) Wide word;
int data;

static void* producer(void* arg) {
  if (SAFE) data = 1;
  Wide expected = 0;
  __atomic_compare_exchange_n(&word, &expected, (Wide)1 << 64, 0, __ATOMIC_RELEASE,  // RACE!
                              __ATOMIC_RELAXED);
  tell(0);
  return NULL;
}

static void* consumer(void* arg) {
  await(0);
  if (SAFE) {
    Wide seen = __atomic_load_n(&word, __ATOMIC_ACQUIRE);
    if (seen != 0) use(data);  // NORACE
  } else {
    use(((long*)&word)[1]);  // RACE!
  }
  return NULL;
}

int main(void) { run_two(producer, consumer); }
