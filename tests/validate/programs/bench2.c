/* Four threads: the access of the first and that of the last are ordered only because a signal and
 * a critical section happen to come in this order. With -DSAFE the last one waits for the first. */
#include <pthread.h>
#include <semaphore.h>

int x; /* not static: it must not be optimised away */
static int ready;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER, other = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static sem_t done;
static volatile unsigned spent;

static void other_work(void) {
  for (unsigned i = 0; i < 3000000; ++i) spent += i;
}

static void* writer(void* unused) {
  x = 1;
  sem_post(&done);
  pthread_mutex_lock(&lock);
  ready = 1;
  pthread_cond_signal(&changed);
  pthread_mutex_unlock(&lock);
  return unused;
}

static void* waiter(void* unused) {
  pthread_mutex_lock(&lock);
  while (!ready) pthread_cond_wait(&changed, &lock);
  pthread_mutex_unlock(&lock);
  pthread_mutex_lock(&other);
  pthread_mutex_unlock(&other);
  return unused;
}

static void* last(void* unused) {
  other_work();
  pthread_mutex_lock(&other);
  pthread_mutex_unlock(&other);
#ifdef SAFE
  sem_wait(&done);
#endif
  x = 2;
  return unused;
}

int main(void) {
  sem_init(&done, 0, 0);
  pthread_t a, b, c;
  pthread_create(&c, 0, last, 0);
  pthread_create(&b, 0, waiter, 0);
  pthread_create(&a, 0, writer, 0);
  pthread_join(a, 0);
  pthread_join(b, 0);
  pthread_join(c, 0);
  return 0;
}
