// SA_SIGINFO on an alternate stack, in the middle of a critical section.
#define _GNU_SOURCE
#include <signal.h>
#include <stdlib.h>

#include "program.h"

pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
int guarded, loose;

static void handler(int number, siginfo_t* info, void* context) {
  use(info->si_signo);
  guarded += 1;           // NORACE the interrupted thread holds the lock
  if (!SAFE) loose += 1;  // RACE!
}

static void* worker(void* arg) {
  stack_t stack = {.ss_sp = malloc(1 << 16), .ss_size = 1 << 16};
  sigaltstack(&stack, NULL);
  pthread_mutex_lock(&lock);
  raise(SIGUSR1);
  pthread_mutex_unlock(&lock);
  return NULL;
}

static void* other(void* arg) {
  if (SAFE) return worker(arg);
  loose += 1;  // RACE!
  return NULL;
}

int main(void) {
  struct sigaction action = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO | SA_ONSTACK};
  sigaction(SIGUSR1, &action, NULL);
  run_two(worker, other);
}
