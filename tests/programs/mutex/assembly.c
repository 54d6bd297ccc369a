// build: needs=pass
// Locks in inline assembly: an exchange with a store that unlocks (in assembly, or a plain one
// behind a barrier of the compiler), and glib's bit lock (asm goto). The compilers' plugins see
// them. An empty statement at the end of a turn keeps gcc from making one turn of all.
#include "program.h"

int word, plain_word, bits;
int exchanged, stored, bit_locked;

static void lock_word(int* lock) {
  int taken = 1;
  do {
    __asm__ volatile("xchgl %0, %1" : "+r"(taken), "+m"(*lock) : : "memory");
  } while (taken);
}

static void unlock_word(void) { __asm__ volatile("movl $0, %0" : "=m"(word) : : "memory"); }

static void unlock_plain_word(void) {
  __asm__ volatile("" : : : "memory");
  *(volatile int*)&plain_word = 0;
}

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
    if (SAFE) lock_word(&word);
    ++exchanged;  // RACE! exchanged
    if (SAFE) unlock_word();
    if (SAFE) lock_word(&plain_word);
    ++stored;  // RACE! stored
    if (SAFE) unlock_plain_word();
    if (SAFE) lock_bit(&bits, 3);
    ++bit_locked;  // RACE! bit
    if (SAFE) unlock_bit(&bits, 3);
    __asm__ volatile("" : : : "memory");
  }
  return NULL;
}

int main(void) { run_two(worker, worker); }
