// A teller moves money between two accounts under a lock; an audit adds them up without it.
#include <assert.h>
#include <pthread.h>
#include <stdio.h>

static struct {
  long savings, checking;
  pthread_mutex_t lock;
} bank = {100, 0, PTHREAD_MUTEX_INITIALIZER};

static void* transfer(void* amount) {
  pthread_mutex_lock(&bank.lock);
  bank.savings -= (long)amount;
  bank.checking += (long)amount;
  pthread_mutex_unlock(&bank.lock);
  return NULL;
}

static void* audit(void* expected) {
  long total = bank.savings;
  total += bank.checking;
  assert(total == (long)expected);
  return NULL;
}

int main(void) {
  pthread_t teller, auditor;
  pthread_create(&teller, NULL, transfer, (void*)10L);
  pthread_create(&auditor, NULL, audit, (void*)100L);
  pthread_join(teller, NULL);
  pthread_join(auditor, NULL);
  puts("the books are in order");
}
