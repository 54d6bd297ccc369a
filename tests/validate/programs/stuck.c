/* Hangs if the reader does not see what the writer wrote. By itself it does: the reader waits a
 * while for the writer to be through, without being ordered after it. Says in the file that its
 * argument names that it hangs. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <unistd.h>

static int data;
static atomic_int through;

static __attribute__((noinline)) void put(void) { data = 1; }
static __attribute__((noinline)) int take(void) { return data; }

static void* writer(void* unused) {
  put();
  atomic_store_explicit(&through, 1, memory_order_relaxed);
  return unused;
}

static void* reader(void* path) {
  for (int i = 0; i < 1000 && !atomic_load_explicit(&through, memory_order_relaxed); ++i)
    usleep(1000);
  if (take() == 1) return 0;
  fclose(fopen(path, "w"));
  for (;;) pause();
}

int main(int count, char** words) {
  pthread_t a, b;
  if (count < 2) return 2;
  pthread_create(&a, 0, reader, words[1]);
  pthread_create(&b, 0, writer, 0);
  pthread_join(a, 0);
  pthread_join(b, 0);
  return 0;
}
