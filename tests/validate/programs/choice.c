/* `data` is looked at only after it was published, but a compiler may load it before it knows: no
 * access of the program's. With an argument the program really looks too early. */
#include <pthread.h>
#include <stdatomic.h>

static long data;
static atomic_int ready, steps;
static int racy;

__attribute__((noinline)) static void put(long value) { data = value; }
__attribute__((noinline)) static long get(void) {
  return racy || atomic_load_explicit(&ready, memory_order_acquire) ? data : -1;
}

static int steps_now(void) { return atomic_load_explicit(&steps, memory_order_relaxed); }
static void await_steps(int more) {
  const int until = steps_now() + more;
  while (steps_now() < until && steps_now() >= 0) {
  }
}

static void* writer(void* unused) {
  await_steps(100);
  put(1);
  await_steps(100);
  atomic_store_explicit(&ready, 1, memory_order_release);
  return unused;
}

static void* reader(void* unused) {
  while (get() <= 0) atomic_fetch_add_explicit(&steps, 1, memory_order_relaxed);
  for (int i = 0; i < 1000; ++i) atomic_fetch_add_explicit(&steps, 1, memory_order_relaxed);
  return unused;
}

int main(int argc, char** argv) {
  (void)argv;
  racy = argc > 1;
  pthread_t a, b;
  pthread_create(&a, 0, writer, 0);
  pthread_create(&b, 0, reader, 0);
  pthread_join(a, 0);
  pthread_join(b, 0);
  return 0;
}
