// The library of uninstrumented.c: a counter with its own lock, made of builtins unseen by us.
static int lock, counter;

int plain_next(void) {
  while (__atomic_exchange_n(&lock, 1, __ATOMIC_ACQUIRE)) {
  }
  int now = ++counter;
  __atomic_store_n(&lock, 0, __ATOMIC_RELEASE);
  return now;
}
