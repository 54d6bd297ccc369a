// A thread waits for a pipe into which its own signal handler writes, installed with SA_RESTART:
// the wait is not broken off by the signal, and the handler must run nevertheless.
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

static int ends[2];
static int shared;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void handle(int signal) {
  (void)signal;
  if (write(ends[1], "x", 1) != 1) _exit(1);
}

static void count(void) {
#ifdef SAFE
  pthread_mutex_lock(&lock);
#endif
  ++shared;
#ifdef SAFE
  pthread_mutex_unlock(&lock);
#endif
}

static void* waits(void* unused) {
  char byte;
  sigset_t none;
  sigemptyset(&none);
  pthread_sigmask(SIG_SETMASK, &none, NULL);
  count();
  if (read(ends[0], &byte, 1) != 1) _exit(1);
  return unused;
}

int main(void) {
  pthread_t waiter;
  sigset_t all;
  struct sigaction action = {.sa_handler = handle, .sa_flags = SA_RESTART};
  if (pipe(ends) != 0) return 1;
  sigaction(SIGUSR1, &action, NULL);
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, NULL);
  pthread_create(&waiter, NULL, waits, NULL);
  count();
  kill(getpid(), SIGUSR1);
  pthread_join(waiter, NULL);
  puts("woken");
  return 0;
}
