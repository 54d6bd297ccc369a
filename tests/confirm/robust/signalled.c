// Signals for a thread that is held back in front of its access, while another comes to race with
// it.
#include <pthread.h>
#include <signal.h>
#include <stdio.h>

enum { kTimes = 5 };

static int counter;
// Each thread's own: two threads that handle a signal at once would race on one for all.
static _Thread_local volatile sig_atomic_t handled;

static void handle(int signal) { handled = signal; }

static void* count(void* argument) {
  for (int i = 0; i < kTimes; ++i) {
    ++counter;
  }
  return argument;
}

int main(void) {
  pthread_t threads[2];
  signal(SIGUSR1, handle);
  for (int i = 0; i < 2; ++i) pthread_create(&threads[i], NULL, count, NULL);
  for (int i = 0; i < kTimes; ++i) {
    pthread_kill(threads[0], SIGUSR1);
    pthread_kill(threads[1], SIGUSR1);
  }
  for (int i = 0; i < 2; ++i) pthread_join(threads[i], NULL);
  printf("%s\n", counter > 0 ? "counted" : "nothing");
  return 0;
}
