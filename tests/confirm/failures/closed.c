// The failure here is no data race: a thread that opens after the pipe was closed uses a null
// pointer, and both do what they do under the lock (SAFE: the opener looks first). The only
// candidate, `news`, is ordered by `told` and never met, so no race explains the crash.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int readers, *ends = &readers;
static int told;
int news;  // not static: the compiler must not know that it is never read

static void* opens(void* unused) {
  news = 1;
  pthread_mutex_lock(&lock);
  told = 1;
#ifdef SAFE
  if (ends != NULL)
#endif
#ifdef STATUS
    if (ends == NULL) exit(STATUS);
#endif
  ++*ends;
  pthread_mutex_unlock(&lock);
  return unused;
}

static void* closes(void* unused) {
  pthread_mutex_lock(&lock);
  const int known = told;
  ends = NULL;
  pthread_mutex_unlock(&lock);
  if (known) news = 2;
  return unused;
}

int main(void) {
  pthread_t opener, closer;
  pthread_create(&opener, NULL, opens, NULL);
  usleep(300000);  // no order under the scheduler
  pthread_create(&closer, NULL, closes, NULL);
  pthread_join(opener, NULL);
  pthread_join(closer, NULL);
  puts("closed");
  return 0;
}
