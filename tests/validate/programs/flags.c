/* An atomic that the program shares with code that is not instrumented (plain_flag.c): the library
 * sets it ("sets"), or awaits it ("waits"). Both are safe; with neither word nothing is ordered. */
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

void plain_set(atomic_int* flag);
void plain_wait(atomic_int* flag);

static atomic_int flag;
static int data;
static volatile int taken;
static const char* way;

__attribute__((noinline)) static void put(void) { data = 1; }
__attribute__((noinline)) static void take(void) { taken = data; }

static void* first(void* unused) {
  put();
  if (strcmp(way, "sets") == 0)
    plain_set(&flag);
  else
    atomic_store_explicit(&flag, 1, memory_order_release);
  return unused;
}
static void* second(void* unused) {
  if (strcmp(way, "waits") == 0) plain_wait(&flag);
  while (strcmp(way, "sets") == 0 && !atomic_load_explicit(&flag, memory_order_acquire)) {
  }
  take();
  return unused;
}

int main(int argc, char** argv) {
  way = argc > 1 ? argv[1] : "none";
  pthread_t a, b;
  pthread_create(&a, 0, first, 0);
  pthread_create(&b, 0, second, 0);
  pthread_join(a, 0);
  pthread_join(b, 0);
  return 0;
}
