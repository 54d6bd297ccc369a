// 256 threads, a lock and a counter that is not under it.
#include <pthread.h>

enum { kThreads = 256 };
int under_lock, counter;
pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void* work(void* unused) {
  for (int i = 0; i < 5; ++i) {
    pthread_mutex_lock(&lock);
    ++under_lock;
    pthread_mutex_unlock(&lock);
  }
  ++counter;
  return unused;
}

int main(void) {
  pthread_t threads[kThreads];
  for (int i = 0; i < kThreads; ++i)
    if (pthread_create(&threads[i], NULL, work, NULL) != 0) return 2;
  for (int i = 0; i < kThreads; ++i) pthread_join(threads[i], NULL);
  return counter != kThreads;
}
