// A pair that one cmpxchg16b replaces while perf watches one of its halves: no module, no probe.
// The only writer is this thread, so the instruction must never fail. On a processor it does not;
// QEMU 7.2 begins it again when its second store meets a watchpoint for writes, and the first store
// is done by then. One line each: lock or not, half, kind of watchpoint, traps, failures, torn
// pairs.
#define _GNU_SOURCE
#include <linux/hw_breakpoint.h>
#include <linux/perf_event.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { kTimes = 100 };

static struct {
  volatile unsigned long first, second;
} pair __attribute__((aligned(16)));
static volatile int traps;

static void on_trap(int number) {
  (void)number;
  traps++;
}

#define EXCHANGE(prefix)                                            \
  __asm__ volatile(prefix "cmpxchg16b %1\n\tsete %0"                \
                   : "=qm"(done), "+m"(pair), "+a"(was), "+d"(seen) \
                   : "b"(number + 1), "c"(number + 1)               \
                   : "memory", "cc")

static int replace(unsigned long number, int locked) {
  unsigned long was = number, seen = number;
  unsigned char done;
  if (locked)
    EXCHANGE("lock ");
  else
    EXCHANGE("");
  return done;
}

static int watch(int second, int reads) {
  struct perf_event_attr attr;
  memset(&attr, 0, sizeof attr);
  attr.size = sizeof attr;
  attr.type = PERF_TYPE_BREAKPOINT;
  attr.sample_period = 1;
  attr.bp_addr = (unsigned long)(second ? &pair.second : &pair.first);
  attr.bp_len = HW_BREAKPOINT_LEN_8;
  attr.bp_type = reads ? HW_BREAKPOINT_RW : HW_BREAKPOINT_W;
  attr.exclude_kernel = 1;
  attr.sigtrap = 1;
  attr.remove_on_exec = 1;
  attr.disabled = 1;
  return (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, 0);
}

static int try_one(int locked, int second, int reads) {
  const int event = watch(second, reads);
  int failed = 0, torn = 0;
  if (event < 0) return 77;
  pair.first = pair.second = 0;
  traps = 0;
  ioctl(event, PERF_EVENT_IOC_ENABLE, 0);
  for (unsigned long i = 0; i < kTimes; ++i) {
    if (replace(i, locked)) continue;
    ioctl(event, PERF_EVENT_IOC_DISABLE, 0);
    failed++;
    torn += pair.first != pair.second;
    pair.first = pair.second = i + 1;
    ioctl(event, PERF_EVENT_IOC_ENABLE, 0);
  }
  close(event);
  printf("%s %s %s %d %d %d\n", locked ? "locked" : "plain", second ? "second" : "first",
         reads ? "both" : "writes", traps, failed, torn);
  return 0;
}

int main(void) {
  signal(SIGTRAP, on_trap);
  for (int i = 0; i < 8; ++i)
    if (try_one(i & 4, i & 2, i & 1) != 0) return 77;
  return 0;
}
