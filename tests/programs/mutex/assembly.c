// build: needs=pass
// Locks in inline assembly: an exchange with a store that unlocks, and glib's bit lock (asm goto).
// Only clang's pass sees them; for gcc's code docs/guides/running.md says so.
#include "program.h"

int word, bits;
int exchanged, bit_locked;

static void lock_word(void) {
  int taken = 1;
  do {
    __asm__ volatile("xchgl %0, %1" : "+r"(taken), "+m"(word) : : "memory");
  } while (taken);
}

static void unlock_word(void) { __asm__ volatile("movl $0, %0" : "=m"(word) : : "memory"); }

static void lock_bit(int* address, int bit) {
again:
  __asm__ volatile goto("lock btsl %1, (%0)\n\tjc %l[contended]"
                        :
                        : "r"(address), "r"(bit)
                        : "cc", "memory"
                        : contended);
  return;
contended:
  __asm__ volatile("pause");
  goto again;
}

static void unlock_bit(int* address, int bit) {
  __asm__ volatile("lock btrl %1, (%0)" : : "r"(address), "r"(bit) : "cc", "memory");
}

static void* worker(void* arg) {
  for (int i = 0; i < 100; ++i) {
    if (SAFE) lock_word();
    ++exchanged;  // RACE! exchanged
    if (SAFE) unlock_word();
    if (SAFE) lock_bit(&bits, 3);
    ++bit_locked;  // RACE! bit
    if (SAFE) unlock_bit(&bits, 3);
  }
  return NULL;
}

int main(void) { run_two(worker, worker); }
