// Both threads call one library, each with memory of its own, and what they call there uses none of
// the library's variables: the calls order nothing. Safe: they also pass through its lock.
// build: plain=plain/hidden_lock.c needs=regions
#include "plain/hidden_lock.h"
#include "program.h"

int shared;

static void* first(void* arg) {
  char from[8] = "one", to[8];
  shared += 1;  // RACE!
  hidden_copy(to, from, sizeof to);
  if (SAFE) hidden_add(1);
  tell(0);
  return NULL;
}

static void* second(void* arg) {
  char from[8] = "two", to[8];
  await(0);
  hidden_copy(to, from, sizeof to);
  if (SAFE) hidden_add(1);
  shared += 1;  // RACE!
  return NULL;
}

int main(void) { run_two(first, second); }
