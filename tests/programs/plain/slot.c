// One place to leave a pointer; the taker waits for it. Never instrumented.
static void* slot;

void slot_put(void* value) { __atomic_store_n(&slot, value, __ATOMIC_RELEASE); }

void* slot_take(void) {
  void* value;
  while (!(value = __atomic_exchange_n(&slot, (void*)0, __ATOMIC_ACQ_REL))) {
    __builtin_ia32_pause();
  }
  return value;
}
