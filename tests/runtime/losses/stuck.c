// Every one of THREADS threads, DEEP calls down, waits for a mutex that main keeps; main waits for
// them.
#include <pthread.h>

#define THREADS 120
#define DEEP 50

static pthread_mutex_t kept = PTHREAD_MUTEX_INITIALIZER;

static __attribute__((noinline)) int down(int levels) {
  if (levels == 0) {
    pthread_mutex_lock(&kept);
    pthread_mutex_unlock(&kept);
    return 0;
  }
  volatile int below = down(levels - 1);
  return below + 1;
}

static void* worker(void* unused) {
  down(DEEP);
  return unused;
}

int main(int argc, char** argv) {
  (void)argv;
  const int threads = argc > 1 ? 2 : THREADS;
  pthread_t started[THREADS];
  pthread_mutex_lock(&kept);
  for (int i = 0; i < threads; ++i) pthread_create(&started[i], 0, worker, 0);
  for (int i = 0; i < threads; ++i) pthread_join(started[i], 0);
}
