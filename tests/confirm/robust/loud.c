// Never ends, and prints as fast as it can.
#include <pthread.h>
#include <stdio.h>

static int shared;

static void* talk(void* argument) {
  ++shared;
  for (;;) puts("a line, and another, and another, and another, and another, and another");
  return argument;
}

int main(void) {
  pthread_t thread;
  pthread_create(&thread, 0, talk, 0);
  ++shared;
  pthread_join(thread, 0);
  return 0;
}
