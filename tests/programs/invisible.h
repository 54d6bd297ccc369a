// Order that no race detector sees, so that a racy program races in every run, in one known order.
//
// tell(k) lets one await(k) pass, now or later. Both are system calls on an eventfd with a fixed
// number, made by inline assembly: nothing is intercepted, no memory is shared, no call is marked.
// The kernel does order them, but no detector takes that for synchronisation, and by the language's
// rules it is none. The descriptors survive fork and exec.
#pragma once

#if !defined(__x86_64__)
#error "written for x86-64: raw_call needs this machine's system call instruction"
#endif

#include <sys/syscall.h>

#define ALWAYS_INLINE __attribute__((always_inline)) static inline

ALWAYS_INLINE long raw_call(long number, long a, long b, long c) {
  long result;
  __asm__ volatile("syscall"
                   : "=a"(result)
                   : "a"(number), "D"(a), "S"(b), "d"(c)
                   : "rcx", "r11", "memory");
  return result;
}

enum { kFirstStep = 200, kSteps = 8, kInterrupted = -4, kSemaphoreMode = 1, kGetFlags = 1 };

ALWAYS_INLINE void tell(int step) {
  unsigned long one = 1;
  while (raw_call(SYS_write, kFirstStep + step, (long)&one, sizeof one) == kInterrupted) {
  }
}

ALWAYS_INLINE void await(int step) {
  unsigned long count;
  while (raw_call(SYS_read, kFirstStep + step, (long)&count, sizeof count) == kInterrupted) {
  }
}

// Reads a word that uninstrumented code writes.
ALWAYS_INLINE int peek(const int* word) {
  int value;
  __asm__ volatile("movl %1, %0" : "=r"(value) : "m"(*word) : "memory");
  return value;
}

// Keeps a read alive under optimisation, also valgrind's, which drops loads that lead nowhere.
#define use(value)                                                        \
  do {                                                                    \
    long kept_;                                                           \
    __asm__ volatile("movq %1, %0" : "=m"(kept_) : "r"((long)(value)) :); \
  } while (0)
// Keeps what is behind a pointer.
#define keep(pointer) __asm__ volatile("" : : "r"(pointer) : "memory")

__attribute__((constructor)) static void open_steps(void) {
  for (int step = kFirstStep; step < kFirstStep + kSteps; ++step) {
    if (raw_call(SYS_fcntl, step, kGetFlags, 0) >= 0) continue;  // inherited through exec
    long made = raw_call(SYS_eventfd2, 0, kSemaphoreMode, 0);
    raw_call(SYS_dup2, made, step, 0);
    raw_call(SYS_close, made, 0, 0);
  }
}
