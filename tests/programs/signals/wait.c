// sigwait and sigwaitinfo receive a signal without a handler, ordered after its sending.
#include <signal.h>

#include "program.h"

int before, after;
sigset_t set;

static void* receiver(void* arg) {
  int number;
  sigwait(&set, &number);
  use(before);  // NORACE
  sigwaitinfo(&set, NULL);
  await(0);
  use(after);  // RACE!
  return NULL;
}

int main(void) {
  pthread_t thread;
  sigemptyset(&set);
  sigaddset(&set, SIGUSR1);
  sigaddset(&set, SIGUSR2);
  pthread_sigmask(SIG_BLOCK, &set, NULL);
  pthread_create(&thread, NULL, receiver, NULL);
  before = 1;
  pthread_kill(thread, SIGUSR1);
  if (SAFE) after = 1;
  pthread_kill(thread, SIGUSR2);
  if (!SAFE) after = 2;  // RACE!
  tell(0);
  pthread_join(thread, NULL);
}
