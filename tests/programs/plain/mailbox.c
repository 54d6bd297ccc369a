// An object handed over through a library that locks with its own pthread mutex.
// build: plain=plain/hidden_mutex.c
#include <stdlib.h>

#include "program.h"

void mutex_put(void* value);
void* mutex_get(void);

static void* sender(void* arg) {
  int* message = malloc(2 * sizeof *message);
  message[0] = 1;            // NORACE before it is handed over
  if (SAFE) message[1] = 2;  // NORACE
  mutex_put(message);
  if (!SAFE) message[1] = 3;  // RACE!
  tell(0);
  return NULL;
}

static void* receiver(void* arg) {
  int* message;
  await(0);
  while ((message = mutex_get()) == NULL) sched_yield();
  use(message[0]);  // NORACE
  use(message[1]);  // RACE!
  return NULL;
}

int main(void) { run_two(sender, receiver); }
