// A third thread naps a hundred times while one side of the race waits at its access and the other
// has not begun: a sleep orders nothing. With SAFE both sides take a lock.
#include <pthread.h>
#include <unistd.h>

int shared;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void set(int value) {
#ifdef SAFE
  pthread_mutex_lock(&lock);
#endif
  shared = value;
#ifdef SAFE
  pthread_mutex_unlock(&lock);
#endif
}

static void* early(void* unused) {
  set(1);
  return unused;
}

static void* late(void* unused) {
  set(2);
  return unused;
}

static void* napper(void* unused) {
  for (int i = 0; i < 100; ++i) usleep(10);
  return unused;
}

int main(void) {
  pthread_t threads[3];
  pthread_create(&threads[0], NULL, early, NULL);
  pthread_create(&threads[1], NULL, napper, NULL);
  usleep(20000);
  pthread_create(&threads[2], NULL, late, NULL);
  for (int i = 0; i < 3; ++i) pthread_join(threads[i], NULL);
  return pthread_mutex_destroy(&lock);
}
