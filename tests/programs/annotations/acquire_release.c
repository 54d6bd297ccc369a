// __tsan_acquire and __tsan_release describe synchronisation that the compiler cannot show.
// build: tools=deadheat,tsan
#include "annotations/annotations.h"
#include "program.h"

int data;
char token;

static void* producer(void* arg) {
  if (SAFE) data = 1;
  __tsan_release(&token);
  if (!SAFE) data = 2;  // RACE!
  tell(0);
  return NULL;
}

static void* consumer(void* arg) {
  await(0);
  __tsan_acquire(&token);
  use(data);  // RACE!
  return NULL;
}

int main(void) { run_two(producer, consumer); }
