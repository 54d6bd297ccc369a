// Detached from birth, by attribute.
#include "program.h"

int total;
pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void* worker(void* arg) {
  if (SAFE) pthread_mutex_lock(&lock);
  total = 1;  // RACE!
  if (SAFE) pthread_mutex_unlock(&lock);
  tell(0);
  return NULL;
}

int main(void) {
  pthread_t thread;
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
  for (int i = 0; i < 2; ++i) {
    pthread_create(&thread, &attributes, worker, NULL);
    await(0);
  }
  pthread_attr_destroy(&attributes);
}
