// Built without instrumentation; calls the kernel itself.
#include <linux/futex.h>
#include <sys/syscall.h>

void library_wait(void);
void library_post(void);
static int word;

static long futex(int operation, int value) {
  long result;
  register long none __asm__("r10") = 0;
  __asm__ volatile("syscall"
                   : "=a"(result)
                   : "a"(SYS_futex), "D"(&word), "S"(operation), "d"(value), "r"(none)
                   : "rcx", "r11", "memory");
  return result;
}

#if defined(NAPS)
// Looks again every millisecond: it sleeps whenever one looks at it, and has run each time.
static void wait_a_little(void) {
  static const long time[2] = {0, 1000000};
  long result;
  __asm__ volatile("syscall"
                   : "=a"(result)
                   : "a"(SYS_nanosleep), "D"(time), "S"(0L)
                   : "rcx", "r11", "memory");
}
#else
static void wait_a_little(void) { futex(FUTEX_WAIT, 0); }
#endif

void library_wait(void) {
  while (__atomic_load_n(&word, __ATOMIC_ACQUIRE) == 0) wait_a_little();
}

void library_post(void) {
  __atomic_store_n(&word, 1, __ATOMIC_RELEASE);
  futex(FUTEX_WAKE, 100);
}
