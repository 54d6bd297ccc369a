// A race, and suppressions of SIZE bytes that are built into the program.
#include <pthread.h>
#include <string.h>

long counted;

const char* __tsan_default_suppressions(void) {
  static char text[SIZE];
  memset(text, '#', SIZE - 1);
  return text;
}

static void* worker(void* unused) {
  counted += 1;
  return unused;
}

int main(void) {
  pthread_t threads[2];
  for (int i = 0; i < 2; ++i) pthread_create(&threads[i], NULL, worker, NULL);
  for (int i = 0; i < 2; ++i) pthread_join(threads[i], NULL);
}
