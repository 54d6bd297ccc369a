// One thread waits in a loop for what another does after a sleep: with an atomic, a volatile or a
// plain variable (KIND 0, 1, 2). Then both write. With SAFE both take a lock for that.
#include <pthread.h>
#include <unistd.h>

#if KIND == 1
static volatile int ready;
#else
static int ready;
#endif
int shared;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static int is_ready(void) {
#if KIND == 0
  return __atomic_load_n(&ready, __ATOMIC_ACQUIRE);
#else
  return ready;
#endif
}

static void set(int value) {
#ifdef SAFE
  pthread_mutex_lock(&lock);
#endif
  shared = value;
#ifdef SAFE
  pthread_mutex_unlock(&lock);
#endif
}

static void* waiter(void* unused) {
  while (!is_ready()) {
  }
  set(1);
  return unused;
}

static void* sleeper(void* unused) {
  usleep(1000);
#if KIND == 0
  __atomic_store_n(&ready, 1, __ATOMIC_RELEASE);
#else
  ready = 1;
#endif
  set(2);
  return unused;
}

int main(void) {
  pthread_t threads[2];
  pthread_create(&threads[0], NULL, waiter, NULL);
  pthread_create(&threads[1], NULL, sleeper, NULL);
  for (int i = 0; i < 2; ++i) pthread_join(threads[i], NULL);
  return pthread_mutex_destroy(&lock);
}
