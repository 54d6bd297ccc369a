/* Two races: the one crashes if the pointer is cleared before it is used, which comes about only
 * when somebody is held back; the other, on a counter, harms nobody. Both are met in each
 * execution. */
#include <pthread.h>

static int value;
static int* place = &value;
int counter; /* not static: what nobody reads must stay */
static volatile unsigned spent;

static __attribute__((noinline)) void count(void) { counter = counter + 1; }
static __attribute__((noinline)) int* get(void) { return place; }
static __attribute__((noinline)) void clear(void) { place = 0; }

static void* count_thread(void* unused) {
  count();
  return unused;
}

static void* use(void* unused) {
  *get() = 1;
  return unused;
}

static void* close_down(void* unused) {
  for (unsigned i = 0; i < 30000000; ++i) spent += i;
  clear();
  return unused;
}

int main(void) {
  pthread_t a, b, c, d;
  pthread_create(&a, 0, use, 0);
  pthread_create(&b, 0, close_down, 0);
  pthread_create(&c, 0, count_thread, 0);
  pthread_create(&d, 0, count_thread, 0);
  pthread_join(c, 0);
  pthread_join(d, 0);
  pthread_join(a, 0);
  pthread_join(b, 0);
  return 0;
}
