/* A library that is built without any instrumentation: it sets or awaits a flag of the program. */
#include <sched.h>
#include <stdatomic.h>
void plain_set(atomic_int* f) { atomic_store_explicit(f, 1, memory_order_release); }
void plain_wait(atomic_int* f) {
  while (!atomic_load_explicit(f, memory_order_acquire)) sched_yield();
}
