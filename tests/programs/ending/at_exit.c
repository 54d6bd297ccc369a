// An exit handler runs while a detached thread may still be working.
#include <stdlib.h>

#include "program.h"

int log_lines;
pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void flush(void) {
  if (SAFE) pthread_mutex_lock(&lock);
  use(log_lines);  // RACE!
  if (SAFE) pthread_mutex_unlock(&lock);
}

static void* logger(void* arg) {
  pthread_detach(pthread_self());
  if (SAFE) pthread_mutex_lock(&lock);
  log_lines += 1;  // RACE!
  if (SAFE) pthread_mutex_unlock(&lock);
  tell(0);
  return NULL;
}

int main(void) {
  pthread_t thread;
  atexit(flush);
  pthread_create(&thread, NULL, logger, NULL);
  await(0);
  exit(0);
}
