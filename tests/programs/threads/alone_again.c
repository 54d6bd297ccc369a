// A thread that has joined all others is alone, until it makes the next one.
#include "program.h"

int before, between, value;

static void* first(void* arg) {
  before += 1;  // NORACE
  between = 1;  // NORACE
  return NULL;
}

static void* second(void* arg) {
  between += 1;          // NORACE
  if (!SAFE) value = 1;  // RACE!
  tell(0);
  return NULL;
}

int main(void) {
  pthread_t thread;
  before = 1;  // NORACE
  pthread_create(&thread, NULL, first, NULL);
  pthread_join(thread, NULL);
  between += before;  // NORACE
  value = 3;          // NORACE
  pthread_create(&thread, NULL, second, NULL);
  await(0);
  value += 2;  // RACE!
  pthread_join(thread, NULL);
  use(value + between);  // NORACE
}
