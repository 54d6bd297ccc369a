// Becomes another program while a second thread is busy.
#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

static atomic_long counter;

static void* busy(void* unused) {
  for (;;) atomic_fetch_add(&counter, 1);
  return unused;
}

int main(int argc, char** argv) {
  pthread_t thread;
  if (argc < 2) return 2;
  pthread_create(&thread, 0, busy, 0);
  while (atomic_fetch_add(&counter, 0) < 10000000) {
  }
  execv(argv[1], argv + 1);
  return 1;
}
