// A customer not told in time that the shop is closed leaves with the key.
#include <pthread.h>
#include <stdio.h>

static int closed;
static pthread_mutex_t key = PTHREAD_MUTEX_INITIALIZER;

static void* owner(void* unused) {
  closed = 1;
  return unused;
}

static void* customer(void* unused) {
  pthread_mutex_lock(&key);
  if (closed == 0) return unused;
  pthread_mutex_unlock(&key);
  return unused;
}

int main(void) {
  pthread_t a, b;
  pthread_create(&a, NULL, owner, NULL);
  pthread_create(&b, NULL, customer, NULL);
  pthread_join(a, NULL);
  pthread_join(b, NULL);
  pthread_mutex_lock(&key);
  puts("done");
}
