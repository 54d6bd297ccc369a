// A handler that raise() runs in the same thread is not concurrent with it; another thread is.
#include <signal.h>

#include "program.h"

int mine[2], shared;

static void handler(int number) { mine[0] += number; }  // NORACE same thread

static void* worker(void* arg) {
  if (arg) {
    mine[0] = 1;  // NORACE
    raise(SIGUSR2);
    use(mine[0]);  // NORACE
    mine[1] = 1;   // NORACE
  }
  if (!SAFE) shared += 1;  // RACE!
  return NULL;
}

int main(void) {
  pthread_t a, b;
  signal(SIGUSR2, handler);
  pthread_create(&a, NULL, worker, &shared);
  pthread_create(&b, NULL, worker, NULL);
  pthread_join(a, NULL);
  pthread_join(b, NULL);
}
