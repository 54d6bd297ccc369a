// Workers go through ever other locks until main, which sleeps a second, tells them to stop. Who
// schedules them one at a time and advances the clock only when no thread can run never wakes main:
// the program then stands in the scheduler, and does not hang. The counter is raced on.
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <unistd.h>

enum { kWorkers = 2, kLocks = 4096 };

static pthread_mutex_t locks[kLocks];
static atomic_int stop;
static int shared;

static void* work(void* unused) {
  ++shared;
  for (unsigned i = 0; !atomic_load(&stop); i = (i + 1) % kLocks) {
    pthread_mutex_lock(&locks[i]);
    pthread_mutex_unlock(&locks[i]);
  }
  return unused;
}

int main(void) {
  pthread_t workers[kWorkers];
  for (int i = 0; i < kLocks; ++i) pthread_mutex_init(&locks[i], NULL);
  for (int i = 0; i < kWorkers; ++i) pthread_create(&workers[i], NULL, work, NULL);
  sleep(1);
  atomic_store(&stop, 1);
  for (int i = 0; i < kWorkers; ++i) pthread_join(workers[i], NULL);
  puts("stopped");
  return 0;
}
