// pthread_once orders its function before every return; looking without it is a race.
#include "program.h"

pthread_once_t once = PTHREAD_ONCE_INIT;
int table;

static void fill(void) { table = 1; }  // RACE!

static void* first(void* arg) {
  pthread_once(&once, fill);
  use(table);  // NORACE
  tell(0);
  return NULL;
}

static void* second(void* arg) {
  await(0);
  if (SAFE) pthread_once(&once, fill);
  use(table);  // RACE!
  return NULL;
}

int main(void) { run_two(first, second); }
