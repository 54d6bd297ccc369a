// A wait that gives up after ten seconds never does: the other thread tells at once. It would if
// that one were held back at an access for as long, which no system does.
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <time.h>

int counted;
static int ready;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t told = PTHREAD_COND_INITIALIZER;

static void* tells(void* arg) {
#ifndef SAFE
  ++counted;
#endif
  pthread_mutex_lock(&lock);
  ready = 1;
  pthread_cond_signal(&told);
  pthread_mutex_unlock(&lock);
  return arg;
}

int main(void) {
  pthread_t thread;
  pthread_create(&thread, NULL, tells, NULL);
  struct timespec until;
  clock_gettime(CLOCK_REALTIME, &until);
  until.tv_sec += 10;
  ++counted;
  pthread_mutex_lock(&lock);
  while (!ready)
    if (pthread_cond_timedwait(&told, &lock, &until) == ETIMEDOUT) exit(3);
  pthread_mutex_unlock(&lock);
  pthread_join(thread, NULL);
}
