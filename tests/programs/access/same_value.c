// Both threads write the same value. It is a race all the same.
#include "program.h"

int stop;

static void* first(void* arg) {
  stop = 1;  // RACE!
  tell(0);
  return NULL;
}

static void* second(void* arg) {
  await(0);
  if (!SAFE) stop = 1;  // RACE!
  return NULL;
}

int main(void) { run_two(first, second); }
