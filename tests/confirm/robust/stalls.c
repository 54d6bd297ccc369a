// The kernel keeps one side for longer than the scheduler waits for somebody who sleeps, but in a
// wait that ends by itself (the parent of a vfork, as with a page that comes from a busy disk): the
// other side is held back until then, in every trial.
#include <pthread.h>
#include <sys/syscall.h>
#include <time.h>

int shared;

static long stall(const struct timespec* time) {
  long child, result;
  // The child sleeps and exits: it shares this stack, and must not return.
  __asm__ volatile(
      "syscall\n\ttest %%eax, %%eax\n\tjnz 1f\n\t"
      "movl %[sleep], %%eax\n\tmovq %[time], %%rdi\n\txorl %%esi, %%esi\n\tsyscall\n\t"
      "movl %[exit], %%eax\n\txorl %%edi, %%edi\n\tsyscall\n1:"
      : "=a"(child)
      : "a"(SYS_vfork), [sleep] "i"(SYS_nanosleep), [exit] "i"(SYS_exit), [time] "b"(time)
      : "rcx", "r11", "rdi", "rsi", "memory");
  register long none __asm__("r10") = 0;
  __asm__ volatile("syscall"
                   : "=a"(result)
                   : "a"(SYS_wait4), "D"(child), "S"(0L), "d"(0L), "r"(none)
                   : "rcx", "r11", "memory");
  return result == child;
}

static void* late(void* unused) {
  const struct timespec time = {0, 80000000};
  if (!stall(&time)) return NULL;
  ++shared;
  return unused;
}

static void* early(void* unused) {
  ++shared;
  return unused;
}

int main(void) {
  pthread_t threads[2];
  if (pthread_create(&threads[0], NULL, late, NULL) != 0) return 2;
  if (pthread_create(&threads[1], NULL, early, NULL) != 0) return 2;
  for (int i = 0; i < 2; ++i) pthread_join(threads[i], NULL);
  return 0;
}
