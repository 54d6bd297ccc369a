// Everything under one lock, or handed over by create and join.
#include <pthread.h>
#include <stdio.h>

static long balance = 100;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void* pay(void* amount) {
  pthread_mutex_lock(&lock);
  balance += (long)amount;
  pthread_mutex_unlock(&lock);
  return NULL;
}

int main(void) {
  pthread_t tellers[2];
  pthread_create(&tellers[0], NULL, pay, (void*)10L);
  pthread_create(&tellers[1], NULL, pay, (void*)-10L);
  pthread_join(tellers[0], NULL);
  pthread_join(tellers[1], NULL);
  printf("balance %ld\n", balance);
}
