// Two threads begin and end, over and over, for as many milliseconds as it is told.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
long total;

static void* add(void* arg) {
  pthread_mutex_lock(&lock);
  total += 1;
  pthread_mutex_unlock(&lock);
  return arg;
}

static long now_ms(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

int main(int argc, char** argv) {
  const long end = now_ms() + (argc > 1 ? atol(argv[1]) : 400);
  while (now_ms() < end) {
    pthread_t threads[2];
    for (int i = 0; i < 2; ++i) pthread_create(&threads[i], NULL, add, NULL);
    for (int i = 0; i < 2; ++i) pthread_join(threads[i], NULL);
  }
  puts("done");
  return 0;
}
