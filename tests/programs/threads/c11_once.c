// C11's call_once and tss_t: the initialiser is ordered before every return of call_once.
// build: std=c11
#include <threads.h>

#include "program.h"

once_flag once = ONCE_FLAG_INIT;
tss_t slot;
int table, destroyed;

static void destroy(void* value) { destroyed = *(int*)value; }  // NORACE ordered by the join

static void fill(void) {
  tss_create(&slot, destroy);
  table = 1;  // RACE!
}

static int user(void* arg) {
  if (SAFE || arg) call_once(&once, fill);
  if (arg) {
    tss_set(slot, &table);
    tell(0);
  } else {
    await(0);
    use(table);  // RACE!
  }
  return 0;
}

int main(void) {
  thrd_t a, b;
  int yes;
  thrd_create(&a, user, &yes);
  thrd_create(&b, user, NULL);
  thrd_join(a, NULL);
  use(destroyed);  // NORACE
  thrd_join(b, NULL);
}
