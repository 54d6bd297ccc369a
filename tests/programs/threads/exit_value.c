// pthread_exit from deep inside; its value and all before it are ordered by the join.
#include "program.h"

int progress;

__attribute__((noinline)) static void leave(int depth) {
  if (depth > 0) {
    leave(depth - 1);
    keep(&depth);
  } else {
    progress = 1;  // RACE!
    tell(0);
    pthread_exit(&progress);
  }
}

static void* worker(void* arg) {
  leave(10);
  return NULL;
}

int main(void) {
  pthread_t thread;
  void* value;
  pthread_create(&thread, NULL, worker, NULL);
  await(0);
  if (!SAFE) progress = 2;  // RACE!
  pthread_join(thread, &value);
  return value == &progress ? 0 : 1;
}
