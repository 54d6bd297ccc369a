// Two threads that race while all four debug registers belong to perf events of the program itself.
// Runs for argv[1] seconds; ends with 77 where it may not have such events.
#include <linux/hw_breakpoint.h>
#include <linux/perf_event.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "pair.h"

static long watched[4];
static int value;

static void* work(void* writes) {
  int sum = 0;
  while (atomic_fetch_add(&stop, 0) == 0) {
    if (writes)
      value = ++sum;
    else
      sum += *(volatile int*)&value;
  }
  return 0;
}

int main(int argc, char** argv) {
  for (int i = 0; i < 4; i++) {
    struct perf_event_attr attr;
    memset(&attr, 0, sizeof attr);
    attr.type = PERF_TYPE_BREAKPOINT;
    attr.size = sizeof attr;
    attr.bp_type = HW_BREAKPOINT_W;
    attr.bp_addr = (unsigned long)&watched[i];
    attr.bp_len = HW_BREAKPOINT_LEN_8;
    attr.exclude_kernel = attr.exclude_hv = attr.inherit = 1;
    if (syscall(SYS_perf_event_open, &attr, 0, -1, -1, 0) < 0) return 77;
  }
  return run_pair(work, argc, argv);
}
