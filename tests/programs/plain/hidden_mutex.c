// A library with a pthread mutex of its own, and a value behind it.
#include <pthread.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static void* slot;

void mutex_put(void* value) {
  pthread_mutex_lock(&lock);
  slot = value;
  pthread_mutex_unlock(&lock);
}

void* mutex_get(void) {
  pthread_mutex_lock(&lock);
  void* value = slot;
  slot = 0;
  pthread_mutex_unlock(&lock);
  return value;
}
