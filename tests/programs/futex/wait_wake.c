// A futex through syscall(): the word is atomic; the data is ordered by its release and acquire.
#include <linux/futex.h>
#include <stdatomic.h>
#include <unistd.h>

#include "program.h"

_Atomic int word;
int data;

static void* waker(void* arg) {
  if (SAFE) data = 1;
  atomic_store_explicit(&word, 1, memory_order_release);
  syscall(SYS_futex, &word, FUTEX_WAKE, 1, NULL, NULL, 0);
  if (!SAFE) data = 2;  // RACE!
  tell(0);
  return NULL;
}

static void* sleeper(void* arg) {
  while (atomic_load_explicit(&word, memory_order_acquire) == 0) {
    syscall(SYS_futex, &word, FUTEX_WAIT, 0, NULL, NULL, 0);
  }
  await(0);
  use(data);  // RACE!
  return NULL;
}

int main(void) { run_two(waker, sleeper); }
