// main ends the process without waiting for its threads, long before they come to the race.
#include <pthread.h>

static pthread_mutex_t first_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t second_lock = PTHREAD_MUTEX_INITIALIZER;
int late;

static void work(pthread_mutex_t* lock) {
  for (int i = 0; i < 20; ++i) {
    pthread_mutex_lock(lock);
    pthread_mutex_unlock(lock);
  }
}

static void* first(void* argument) {
  work(&first_lock);
  late = 1;
  return argument;
}

static void* second(void* argument) {
  work(&second_lock);
  late = 2;
  return argument;
}

int main(void) {
  pthread_t threads[2];
  pthread_create(&threads[0], 0, first, 0);
  pthread_create(&threads[1], 0, second, 0);
  return 0;
}
