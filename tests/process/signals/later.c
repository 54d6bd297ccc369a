// A worker takes the end of its wait for a failure of the other side; the signal that says "go on"
// comes just in time, but nothing makes it. SAFE: what the handler noted counts, however the wait
// ended.
#include <errno.h>
#include <signal.h>
#include <sys/select.h>
#include <sys/wait.h>
#include <unistd.h>

static volatile sig_atomic_t told;

static void on_signal(int number) {
  (void)number;
  told = 1;
}

static int worker(int ready) {
  struct sigaction action = {.sa_handler = on_signal};
  sigaction(SIGUSR1, &action, 0);
  if (write(ready, "r", 1) != 1) return 8;
  struct timeval limit = {1, 0};
  const int ended = select(0, 0, 0, 0, &limit);
#ifdef SAFE
  return told || ended < 0 ? 0 : 3;
#else
  return ended < 0 && errno == EINTR ? 0 : 3;
#endif
}

int main(void) {
  int ready[2];
  char byte;
  if (pipe(ready) != 0) return 7;
  const pid_t child = fork();
  if (child == 0) _exit(worker(ready[1]));
  if (read(ready[0], &byte, 1) != 1) return 6;
  usleep(100000);  // the program's own hope, which the branch takes away
  kill(child, SIGUSR1);
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}
