/* An empty loop that waits for a plain variable: not instrumented, named in the report. */
#include <pthread.h>

static volatile int go;

static void* starter(void* unused) {
  go = 1;
  return unused;
}

int main(void) {
  pthread_t thread;
  pthread_create(&thread, 0, starter, 0);
  while (!go) {
  }
  pthread_join(thread, 0);
  return 0;
}
