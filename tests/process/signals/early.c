// A worker says that it is ready before its file is there; the handler of the signal that follows
// needs the file. SAFE: the file first.
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static volatile sig_atomic_t told;

static void on_signal(int number) {
  (void)number;
  char byte;
  const int file = open("configuration", O_RDONLY);
  if (file < 0 || read(file, &byte, 1) != 1) {
    if (write(2, "error: no configuration\n", 24)) {
    }
    _exit(9);
  }
  told = 1;
}

static void make(const char* name) {
  const int file = open(name, O_CREAT | O_WRONLY, 0600);
  if (write(file, "x", 1) != 1) _exit(8);
  close(file);
}

static int worker(void) {
  signal(SIGUSR1, on_signal);
  struct stat about;
#ifdef SAFE
  make("configuration");
  make("ready");
#else
  make("ready");
  stat("limits", &about);
  make("configuration");
#endif
  sigset_t mask, old;
  sigemptyset(&mask);
  sigaddset(&mask, SIGUSR1);
  sigprocmask(SIG_BLOCK, &mask, &old);
  while (!told) sigsuspend(&old);
  return 0;
}

int main(int count, char** words) {
  if (count > 1 && chdir(words[1]) != 0) return 7;
  const pid_t child = fork();
  if (child == 0) _exit(worker());
  struct stat about;
  while (stat("ready", &about) != 0) usleep(1000);
  usleep(100000);  // long enough that it goes well nearly always
  kill(child, SIGUSR1);
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}
