// One lock, taken by the library behind our back and by instrumented code in our sight.
// build: plain=plain/hidden_lock.c needs=regions
#include "plain/hidden_lock.h"
#include "program.h"

struct Hidden lock;
int guarded, loose;

static void seen_acquire(void) {
  while (__atomic_exchange_n(&lock.word, 1, __ATOMIC_ACQUIRE)) {
  }
}

static void seen_release(void) { __atomic_store_n(&lock.word, 0, __ATOMIC_RELEASE); }

static void* first(void* arg) {
  seen_acquire();
  guarded += 1;  // NORACE under the lock
  seen_release();
  tell(0);
  await(1);
  seen_acquire();
  guarded += 1;  // NORACE
  seen_release();
  await(2);
  if (!SAFE) loose += 1;  // RACE!
  return NULL;
}

static void* second(void* arg) {
  await(0);
  hidden_acquire(&lock);
  guarded += 1;  // NORACE
  hidden_release(&lock);
  tell(1);
  loose += 1;  // RACE!
  tell(2);
  return NULL;
}

int main(void) { run_two(first, second); }
