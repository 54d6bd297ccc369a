// pthread_kill: what the sender wrote before is ordered before the handler, what it writes after is
// not.
#include <signal.h>

#include "program.h"

int before, after;

static void handler(int number) {
  tell(1);
  await(2);
  use(before);            // NORACE sent after it was written
  if (!SAFE) use(after);  // RACE!
}

static void* receiver(void* arg) {
  sigset_t none;
  sigemptyset(&none);
  tell(0);
  sigsuspend(&none);  // the handler runs here
  return NULL;
}

int main(void) {
  pthread_t thread;
  struct sigaction action = {.sa_handler = handler};
  sigaction(SIGUSR1, &action, NULL);
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGUSR1);
  pthread_sigmask(SIG_BLOCK, &set, NULL);
  pthread_create(&thread, NULL, receiver, NULL);
  await(0);
  before = 1;
  pthread_kill(thread, SIGUSR1);
  await(1);
  after = 1;  // RACE!
  tell(2);
  pthread_join(thread, NULL);
}
