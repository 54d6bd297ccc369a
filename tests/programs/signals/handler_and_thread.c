// A signal handler runs in one thread and races with another thread.
#include <signal.h>

#include "program.h"

int seen;
pthread_t target;

static void handler(int number) {
  if (!SAFE) seen = number;  // RACE!
  tell(0);
}

static void* reader(void* arg) {
  await(0);
  use(seen);  // RACE!
  return NULL;
}

int main(void) {
  pthread_t thread;
  struct sigaction action = {.sa_handler = handler};
  sigaction(SIGUSR1, &action, NULL);
  pthread_create(&thread, NULL, reader, NULL);
  raise(SIGUSR1);
  pthread_join(thread, NULL);
}
