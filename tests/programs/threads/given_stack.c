// Two threads one after the other on one stack that the program gave them.
#include <stdlib.h>

#include "program.h"

enum { kStack = 1 << 20 };
int last;

static void* worker(void* arg) {
  volatile char local[256];
  for (int i = 0; i < 256; ++i) local[i] = (char)i;  // NORACE the former user is gone
  last = local[3];                                   // RACE!
  tell(0);
  return NULL;
}

int main(void) {
  void* stack = aligned_alloc(4096, kStack);
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstack(&attributes, stack, kStack);
  for (int i = 0; i < 3; ++i) {
    pthread_t thread;
    pthread_create(&thread, &attributes, worker, NULL);
    await(0);
    if (!SAFE) last = i;  // RACE!
    pthread_join(thread, NULL);
  }
  free(stack);
}
