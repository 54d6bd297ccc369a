// The library returns what another thread gave it: the result leads to the object.
// build: plain=plain/slot.c needs=regions
#include <stdlib.h>

#include "program.h"

void slot_put(void* value);
void* slot_take(void);

static void* sender(void* arg) {
  int* message = malloc(2 * sizeof *message);
  message[0] = 1;            // NORACE
  if (SAFE) message[1] = 2;  // NORACE
  slot_put(message);
  if (!SAFE) message[1] = 3;  // RACE!
  tell(0);
  return NULL;
}

static void* receiver(void* arg) {
  int* message = slot_take();
  await(0);
  use(message[0]);  // NORACE
  use(message[1]);  // RACE!
  return NULL;
}

int main(void) { run_two(sender, receiver); }
