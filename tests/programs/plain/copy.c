// What the library copies is its own affair: nothing is reported there, only beside it.
// build: plain=plain/hidden_lock.c
#include "plain/hidden_lock.h"
#include "program.h"

char from[64], to[64];
int shared;

static void* copier(void* arg) {
  hidden_copy(to, from, sizeof to);  // NORACE not instrumented
  tell(0);
  return NULL;
}

static void* writer(void* arg) {
  await(0);
  hidden_copy(to, from, sizeof to);  // NORACE not instrumented
  return NULL;
}

static void* racer(void* arg) {
  if (!SAFE) shared += 1;  // RACE!
  return NULL;
}

int main(void) {
  run_two(copier, writer);
  run_two(racer, racer);
}
