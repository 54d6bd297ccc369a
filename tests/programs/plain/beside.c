// A true race beside calls into a library that has nothing to do with it.
// build: plain=plain/hidden_lock.c
#include "plain/hidden_lock.h"
#include "program.h"

int shared;

static void* first(void* arg) {
  use(hidden_add(1));
  if (!SAFE) shared = 1;  // RACE!
  tell(0);
  await(1);
  use(hidden_add(2));
  return NULL;
}

static void* second(void* arg) {
  use(hidden_add(3));
  await(0);
  shared = 2;  // RACE!
  tell(1);
  return NULL;
}

int main(void) { run_two(first, second); }
