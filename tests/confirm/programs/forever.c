// Races, and then never ends.
#include <pthread.h>
#include <unistd.h>

int stopping;

static void* stopper(void* unused) {
  stopping = 1;
  return unused;
}

int main(void) {
  pthread_t thread;
  pthread_create(&thread, NULL, stopper, NULL);
  stopping = 2;
  pthread_join(thread, NULL);
  for (;;) pause();
}
