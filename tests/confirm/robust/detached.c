// Detached threads, and a main that sleeps and polls until they are done: the sleep is
// what is tested (virtual time must let the others run).
#include <pthread.h>
#include <unistd.h>

int shared, done;
pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void* work(void* unused) {
  ++shared;
  pthread_mutex_lock(&lock);
  ++done;
  pthread_mutex_unlock(&lock);
  return unused;
}

int main(void) {
  pthread_attr_t detached;
  pthread_attr_init(&detached);
  pthread_attr_setdetachstate(&detached, PTHREAD_CREATE_DETACHED);
  for (int i = 0; i < 4; ++i) {
    pthread_t thread;
    if (pthread_create(&thread, i % 2 == 0 ? &detached : NULL, work, NULL) != 0) return 2;
    if (i % 2 != 0) pthread_detach(thread);
  }
  for (int seen = 0; seen < 4; usleep(1000)) {
    pthread_mutex_lock(&lock);
    seen = done;
    pthread_mutex_unlock(&lock);
  }
  return 0;
}
