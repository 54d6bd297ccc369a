// A library that we do not see waits in the kernel for a word that another thread sets there: it
// orders the two accesses, and a scheduler that waited for it would wait for ever.
#include <pthread.h>

void library_wait(void);
void library_post(void);
int shared;

static void* waits(void* unused) {
  library_wait();
  ++shared;
  return unused;
}

static void* posts(void* unused) {
  ++shared;
  library_post();
  return unused;
}

int main(void) {
  pthread_t threads[2];
  if (pthread_create(&threads[0], NULL, waits, NULL) != 0) return 2;
  if (pthread_create(&threads[1], NULL, posts, NULL) != 0) return 2;
  for (int i = 0; i < 2; ++i) pthread_join(threads[i], NULL);
  return 0;
}
