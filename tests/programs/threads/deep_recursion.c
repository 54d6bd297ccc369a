// A race below 5,000 calls: the stack is deep, and both sides are still found.
#include "program.h"

int depth_reached;
pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

__attribute__((noinline)) static int descend(int depth) {
  if (depth > 0) {
    int below = descend(depth - 1);
    keep(&below);
    return below + 1;
  }
  if (SAFE) pthread_mutex_lock(&lock);
  depth_reached += 1;  // RACE!
  if (SAFE) pthread_mutex_unlock(&lock);
  return 0;
}

static void* worker(void* arg) {
  use(descend(5000));
  return NULL;
}

int main(void) { run_two(worker, worker); }
