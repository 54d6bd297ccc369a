// The handler needs a file that the worker makes long before the signal comes, but after it said
// that it is ready. SAFE: the file first.
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { kSteps = 40 };

static volatile sig_atomic_t told;

static void on_signal(int number) {
  (void)number;
  struct stat about;
  if (stat("configuration", &about) != 0) _exit(9);
  told = 1;
}

static void make(const char* name) { close(open(name, O_CREAT | O_WRONLY, 0600)); }

static int worker(int ready) {
  struct sigaction action = {.sa_handler = on_signal};
  sigaction(SIGUSR1, &action, 0);
#ifdef SAFE
  make("configuration");
#endif
  if (write(ready, "r", 1) != 1) return 8;
#ifndef SAFE
  make("configuration");
#endif
  const int log = open("log", O_CREAT | O_WRONLY, 0600);
  for (int i = 0; i < kSteps; i++)
    if (write(log, "step\n", 5) != 5) return 8;
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
