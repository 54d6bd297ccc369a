/* The race is in a child; the parent has one thread only. errno and the signal mask are looked at
 * around each access. With -DSAFE there is a lock. */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static volatile int total; /* each access is made */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static volatile sig_atomic_t handled;

static void on_signal(int number) {
  (void)number;
  ++handled;
}

static void* add(void* unused) {
  sigset_t before, after;
  sigemptyset(&before);
  sigemptyset(&after);
  pthread_sigmask(SIG_BLOCK, 0, &before);
  for (int i = 0; i < 200; ++i) {
    errno = 1234;
#ifdef SAFE
    pthread_mutex_lock(&lock);
#endif
    total += 1;
#ifdef SAFE
    pthread_mutex_unlock(&lock);
#endif
    if (errno != 1234) abort();
  }
  pthread_sigmask(SIG_BLOCK, 0, &after);
  for (int i = 1; i < 32; ++i)
    if (sigismember(&before, i) != sigismember(&after, i)) abort();
  return unused;
}

int main(void) {
  (void)lock;
  signal(SIGUSR1, on_signal);
  pid_t child = fork();
  if (child == 0) {
    pthread_t a, b;
    pthread_create(&a, 0, add, 0);
    pthread_create(&b, 0, add, 0);
    for (int i = 0; i < 20; ++i) pthread_kill(i % 2 ? a : b, SIGUSR1);
    pthread_join(a, 0);
    pthread_join(b, 0);
    exit(0);
  }
  int status = 1;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 9;
}
