// volatile is no synchronisation.
#include <stdatomic.h>

#include "program.h"

#if SAFE
_Atomic int ready;
#else
volatile int ready;
#endif
int data;

static void* producer(void* arg) {
  data = 1;   // RACE! data
  ready = 1;  // RACE! flag
  tell(0);
  return NULL;
}

static void* consumer(void* arg) {
  await(0);
  while (!ready) {  // RACE! flag
  }
  use(data);  // RACE! data
  return NULL;
}

int main(void) { run_two(producer, consumer); }
