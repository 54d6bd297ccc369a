// Races (with SAFE: takes turns), signals that by creating the file "done", and then never ends.
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

static int shared;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void* add(void* unused) {
#ifdef SAFE
  pthread_mutex_lock(&lock);
#endif
  ++shared;
#ifdef SAFE
  pthread_mutex_unlock(&lock);
#endif
  return unused;
}

int main(int count, char** words) {
  pthread_t threads[2];
  for (int i = 0; i < 2; ++i) pthread_create(&threads[i], NULL, add, NULL);
  for (int i = 0; i < 2; ++i) pthread_join(threads[i], NULL);
  pthread_mutex_unlock(&lock);
  if (count > 1) signal(SIGINT, SIG_IGN), signal(SIGTERM, SIG_IGN);
  close(open("done", O_CREAT | O_WRONLY, 0600));
  if (count > 1 && words[1][0] == 'e') return 0;
  for (;;) pause();
}
