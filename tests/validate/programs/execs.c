/* Replaces itself while threads of it may be held back; every image has the race, or with the
 * argument "safe" none. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int data; /* not static: it must not be optimised away */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t together;
static int safe;

static __attribute__((noinline)) void put(void) { data = 1; }
static __attribute__((noinline)) void take(void) { data = 2; }

static void* run(void* function) {
  for (int i = 0; i < 50; ++i) {
    pthread_barrier_wait(&together);
    if (safe) pthread_mutex_lock(&lock);
    ((void (*)(void))function)();
    if (safe) pthread_mutex_unlock(&lock);
  }
  return 0;
}

int main(int argc, char** argv) {
  safe = argc > 1 && strcmp(argv[1], "safe") == 0;
  const int images_left = argc > 2 ? atoi(argv[2]) : 2;
  pthread_barrier_init(&together, 0, 2);
  pthread_t a, b;
  pthread_create(&a, 0, run, (void*)put);
  pthread_create(&b, 0, run, (void*)take);
  if (images_left > 0) {
    char number[12];
    snprintf(number, sizeof number, "%d", images_left - 1);
    execl("/proc/self/exe", argv[0], safe ? "safe" : "racy", number, (char*)0);
    return 3;
  }
  pthread_join(a, 0);
  pthread_join(b, 0);
  return 0;
}
