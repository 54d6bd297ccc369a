// C11's thrd_create, thrd_join and mtx_t.
// build: std=c11
#include <threads.h>

#include "program.h"

int balance;
mtx_t lock;

static int deposit(void* arg) {
  if (SAFE) mtx_lock(&lock);
  balance += 10;  // RACE!
  if (SAFE) mtx_unlock(&lock);
  return 7;
}

int main(void) {
  thrd_t a, b;
  int result;
  mtx_init(&lock, mtx_plain);
  thrd_create(&a, deposit, NULL);
  thrd_create(&b, deposit, NULL);
  thrd_join(a, &result);
  thrd_join(b, NULL);
  use(balance);  // NORACE
  mtx_destroy(&lock);
  return result == 7 ? 0 : 1;
}
