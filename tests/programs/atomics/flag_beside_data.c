// A flag and data in one granule of the shadow, which has room for four accesses: reads of the flag
// must not push out the read of the data between them.
#include <stdatomic.h>

#include "program.h"

struct {
  _Alignas(8) int data;
  atomic_int flag;
} both;

static void* writer(void* arg) {
  for (int i = 1; i <= 10; ++i) {
    atomic_load_explicit(&both.flag, memory_order_relaxed);
    atomic_store_explicit(&both.flag, 2 * i - 1, memory_order_relaxed);
    if (i == 10) tell(0);
    if (i == 10) await(1);
    if (!SAFE || i < 10) both.data = i;  // RACE!
    atomic_store_explicit(&both.flag, 2 * i, memory_order_release);
  }
  return NULL;
}

static void* reader(void* arg) {
  await(0);
  atomic_load_explicit(&both.flag, memory_order_acquire);
  use(both.data);  // RACE!
  atomic_thread_fence(memory_order_acquire);
  atomic_load_explicit(&both.flag, memory_order_relaxed);
  tell(1);
  return NULL;
}

int main(void) { run_two(writer, reader); }
