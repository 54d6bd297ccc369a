// Inline functions: every object that uses them has a copy, and the linker keeps the first.
#pragma once

struct Counted {
  int* value;
  long times;
};

struct Spin {
  __attribute__((noinline)) void lock() {
    while (__atomic_exchange_n(&word, 1, __ATOMIC_ACQUIRE)) __builtin_ia32_pause();
  }
  __attribute__((noinline)) void unlock() { __atomic_store_n(&word, 0, __ATOMIC_RELEASE); }
  // May throw and returns two words.
  __attribute__((noinline)) Counted lock_for(int* value) {
    if (value == nullptr) throw 1;
    lock();
    return {value, ++times};
  }
  int word = 0;
  long times = 0;
};
