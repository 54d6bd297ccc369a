// A message over a pipe whose ends are moved to the descriptor AT and the one after it.
#include <pthread.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

static int ends[2];

static void* reader(void* unused) {
  char byte;
  if (read(ends[0], &byte, 1) != 1) abort();
  return unused;
}

int main(void) {
  struct rlimit limit;
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return 1;
  if (limit.rlim_max < AT + 2) limit.rlim_max = AT + 2;
  limit.rlim_cur = AT + 2;
  if (setrlimit(RLIMIT_NOFILE, &limit) != 0) return 3;  // the test skips
  if (pipe(ends) != 0 || dup2(ends[0], AT) < 0 || dup2(ends[1], AT + 1) < 0) return 1;
  ends[0] = AT;
  ends[1] = AT + 1;
  pthread_t thread;
  pthread_create(&thread, NULL, reader, NULL);
  if (write(ends[1], "x", 1) != 1) return 1;
  pthread_join(thread, NULL);
}
