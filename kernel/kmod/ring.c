// SPDX-License-Identifier: GPL-2.0
// Records on their way to user space: one writer (the sampling processor), one reader (the device
// is open once). A full buffer loses the newest record, which records_lost counts.
#include <linux/uaccess.h>
#include <linux/vmalloc.h>

#include "watch.h"

#define RECORDS 2048u  // about 1.6 MB

static struct deadheat_watch_record *records;
static unsigned int head, tail;  // only increase; head is the writer's

int dh_ring_init(void) {
  records = vzalloc(RECORDS * sizeof *records);
  return records ? 0 : -ENOMEM;
}

void dh_ring_exit(void) { vfree(records); }

void dh_ring_clear(void) { WRITE_ONCE(tail, smp_load_acquire(&head)); }

struct deadheat_watch_record *dh_ring_begin(void) {
  if (head - smp_load_acquire(&tail) >= RECORDS) {
    dh_count(records_lost);
    return NULL;
  }
  return &records[head % RECORDS];
}
NOKPROBE_SYMBOL(dh_ring_begin);

void dh_ring_commit(void) {
  dh_count(records);
  smp_store_release(&head, head + 1);
}
NOKPROBE_SYMBOL(dh_ring_commit);

ssize_t dh_ring_read(char __user *to, size_t size) {
  size_t done = 0;
  while (size - done >= sizeof *records && tail != smp_load_acquire(&head)) {
    if (copy_to_user(to + done, &records[tail % RECORDS], sizeof *records)) return -EFAULT;
    smp_store_release(&tail, tail + 1);
    done += sizeof *records;
  }
  return done;
}
