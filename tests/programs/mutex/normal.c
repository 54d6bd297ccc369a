// One account, with and without its lock.
#include "program.h"

int balance = 100;
pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void* withdraw(void* arg) {
  if (SAFE) pthread_mutex_lock(&lock);
  int now = balance;   // NORACE the auditor only reads, too
  balance = now - 10;  // RACE!
  if (SAFE) pthread_mutex_unlock(&lock);
  return NULL;
}

static void* audit(void* arg) {
  pthread_mutex_lock(&lock);
  use(balance);  // RACE!
  pthread_mutex_unlock(&lock);
  return NULL;
}

int main(void) { run_two(withdraw, audit); }
