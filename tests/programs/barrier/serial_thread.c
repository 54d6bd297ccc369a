// For one of the threads the call returns that it is the serial one. The others do not wait for it.
#include "program.h"

pthread_barrier_t barrier;
int summary;

static void* worker(void* arg) {
  if (pthread_barrier_wait(&barrier) == PTHREAD_BARRIER_SERIAL_THREAD) {
    summary = 1;  // RACE!
    tell(0);
    if (SAFE) pthread_barrier_wait(&barrier);
  } else {
    await(0);
    if (SAFE) pthread_barrier_wait(&barrier);
    use(summary);  // RACE!
  }
  return NULL;
}

int main(void) {
  pthread_barrier_init(&barrier, NULL, 2);
  run_two(worker, worker);
  pthread_barrier_destroy(&barrier);
}
