// One thread waits inside the library until the other arrives there: the calls overlap, and order
// all the same (Figure 1 of the RDIT paper).
// build: plain=plain/hidden_lock.c needs=regions
#include "plain/hidden_lock.h"
#include "program.h"

struct Hidden event;
int data;

static void* waiter(void* arg) {
  hidden_wait(&event);
  await(0);
  use(data);  // RACE!
  return NULL;
}

static void* poster(void* arg) {
  if (SAFE) data = 1;  // NORACE before the post
  hidden_post(&event);
  if (!SAFE) data = 2;  // RACE!
  tell(0);
  return NULL;
}

int main(void) { run_two(waiter, poster); }
