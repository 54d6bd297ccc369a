/* As bench2, with a read and a queue: the reader comes after the writer only because it took the
 * queue's lock later. With -DSAFE it reads what the queue gave it. */
#include <pthread.h>

static int x, queue;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static volatile unsigned spent;
static volatile int seen;

static void other_work(void) {
  for (unsigned i = 0; i < 3000000; ++i) spent += i;
}

static void* producer(void* unused) {
#ifdef SAFE
  pthread_mutex_lock(&lock);
  x = 1;
  ++queue;
  pthread_mutex_unlock(&lock);
#else
  x = 1;
  pthread_mutex_lock(&lock);
  ++queue;
  pthread_mutex_unlock(&lock);
#endif
  return unused;
}

static void* consumer(void* unused) {
  other_work();
  pthread_mutex_lock(&lock);
  int items = queue;
#ifdef SAFE
  seen = x;
#endif
  pthread_mutex_unlock(&lock);
#ifndef SAFE
  seen = x;
#endif
  seen += items;
  return unused;
}

int main(void) {
  pthread_t a, b;
  pthread_create(&b, 0, consumer, 0);
  pthread_create(&a, 0, producer, 0);
  pthread_join(a, 0);
  pthread_join(b, 0);
  return 0;
}
