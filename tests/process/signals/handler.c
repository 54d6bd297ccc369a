// A worker says that it is ready before its handler is there: a signal that comes at once kills it.
// SAFE: the handler first.
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

static volatile sig_atomic_t told;

static void on_signal(int number) {
  (void)number;
  told = 1;
}

static void install(void) {
  struct sigaction action = {.sa_handler = on_signal};
  sigaction(SIGUSR1, &action, 0);
}

static int worker(int ready) {
#ifdef SAFE
  install();
  if (write(ready, "r", 1) != 1) return 8;
#else
  if (write(ready, "r", 1) != 1) return 8;
  install();
#endif
  sigset_t mask, old;
  sigemptyset(&mask);
  sigaddset(&mask, SIGUSR1);
  sigprocmask(SIG_BLOCK, &mask, &old);
  while (!told) sigsuspend(&old);
  return 0;
}

int main(void) {
  int ready[2];
  char byte;
  if (pipe(ready) != 0) return 7;
  const pid_t child = fork();
  if (child == 0) _exit(worker(ready[1]));
  if (read(ready[0], &byte, 1) != 1) return 6;
  usleep(100000);  // long enough that it goes well nearly always
  kill(child, SIGUSR1);
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}
