// A planted race, to prove that a runtime reports one: two threads write a cell, and only the
// creation of one by the other lies between them. Happens-before finds it in every schedule. With
// an argument, the safe twin: the thread is joined before the second write.
#include <pthread.h>
#include <stddef.h>

int canary_cell;

static void* writer(void* unused) {
  (void)unused;
  canary_cell = 1;
  return NULL;
}

int main(int argc, char** argv) {
  (void)argv;
  pthread_t thread;
  if (pthread_create(&thread, NULL, writer, NULL) != 0) return 1;
  if (argc > 1) pthread_join(thread, NULL);
  canary_cell = 2;
  if (argc <= 1) pthread_join(thread, NULL);
  return 0;
}
