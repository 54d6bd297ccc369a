/* Figure 1 of RaceMob: two accesses that are ordered by the accidental order of two critical
 * sections of one lock, if the first thread is through before the second begins. With -DSAFE the
 * accesses are inside. */
#include <pthread.h>

int x; /* not static: it must not be optimised away */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static volatile unsigned spent;

/* The second thread is busy elsewhere first. */
static void other_work(void) {
  for (unsigned i = 0; i < 3000000; ++i) spent += i;
}

static void* first(void* unused) {
#ifndef SAFE
  x = 1;
#endif
  pthread_mutex_lock(&lock);
#ifdef SAFE
  x = 1;
#endif
  pthread_mutex_unlock(&lock);
  return unused;
}

static void* second(void* unused) {
  other_work();
  pthread_mutex_lock(&lock);
#ifdef SAFE
  x = 2;
#endif
  pthread_mutex_unlock(&lock);
#ifndef SAFE
  x = 2;
#endif
  return unused;
}

int main(void) {
  pthread_t a, b;
  pthread_create(&b, 0, second, 0);
  pthread_create(&a, 0, first, 0);
  pthread_join(a, 0);
  pthread_join(b, 0);
  return 0;
}
