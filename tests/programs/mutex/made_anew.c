// A destroyed mutex's order ends with it: one made anew at the same address is another object.
#include "program.h"

pthread_mutex_t lock;
int shared;

static void* worker(void* arg) {
  pthread_mutex_lock(&lock);
  shared += 1;  // NORACE
  pthread_mutex_unlock(&lock);
  if (!SAFE) shared += 1;  // RACE!
  tell(0);
  return NULL;
}

int main(void) {
  for (int i = 0; i < 2; ++i) {
    pthread_t thread;
    pthread_mutex_init(&lock, NULL);
    pthread_create(&thread, NULL, worker, NULL);
    await(0);
    pthread_mutex_lock(&lock);
    shared += 1;  // RACE!
    pthread_mutex_unlock(&lock);
    pthread_join(thread, NULL);
    pthread_mutex_destroy(&lock);
  }
}
