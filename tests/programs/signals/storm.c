// A timer's signals hit threads wherever they are, also while they begin and end.
#define _GNU_SOURCE
#include <signal.h>
#include <sys/time.h>

#include "program.h"

enum { kThreads = 500 };

pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
volatile int counted;
int plain;

static void handler(int number) {
  __atomic_add_fetch(&counted, 1, __ATOMIC_RELAXED);  // NORACE atomic, in whichever thread
}

static void* nothing(void* arg) { return NULL; }

static void* touch(void* arg) {
  if (SAFE) pthread_mutex_lock(&lock);
  plain += 1;  // RACE!
  if (SAFE) pthread_mutex_unlock(&lock);
  return NULL;
}

int main(void) {
  struct sigaction action = {.sa_handler = handler, .sa_flags = SA_RESTART};
  struct itimerval often = {{0, 50}, {0, 50}}, never = {{0, 0}, {0, 0}};
  sigaction(SIGPROF, &action, NULL);
  setitimer(ITIMER_PROF, &often, NULL);
  for (int i = 0; i < kThreads; ++i) {
    pthread_t thread;
    pthread_create(&thread, NULL, nothing, NULL);
    pthread_join(thread, NULL);
  }
  run_two(touch, touch);
  setitimer(ITIMER_PROF, &never, NULL);
}
