// SPDX-License-Identifier: GPL-2.0
// What SLUB does with its list and counter: one thread replaces both halves of a pair with one
// cmpxchg16b, another reads one half. The writer is the only one, so its instruction must never
// fail; `lost` counts how often it did. locked=0: without the lock prefix, as for a processor's own
// lists.
#include <linux/moduleparam.h>

#include "pair.h"

static int locked = 1;
module_param(locked, int, 0444);
static unsigned long lost;
module_param(lost, ulong, 0444);

static struct {
  unsigned long first, second;
} halves __aligned(16);
static unsigned long sink;

// The instruction by hand: what the kernel's macros for it are called differs between versions.
#define EXCHANGE(prefix)                                          \
  asm volatile(prefix "cmpxchg16b %1\n\tsete %0"                  \
               : "=qm"(done), "+m"(halves), "+a"(was), "+d"(seen) \
               : "b"(number + 1), "c"(number + 1)                 \
               : "memory", "cc")

static noinline bool halves_replace(unsigned long number) {
  unsigned long was = number, seen = number;
  bool done;
  if (locked)
    EXCHANGE("lock ");
  else
    EXCHANGE("");
  return done;
}

static noinline unsigned long halves_read_first(void) { return READ_ONCE(halves.first); }
static noinline unsigned long halves_read_second(void) { return READ_ONCE(halves.second); }

static int writer(void *unused) {
  unsigned long number = 0;
  while (pair_go_on())
    for (int i = 0; i < 256; ++i, ++number) {
      if (halves_replace(number)) continue;
      lost++;
      halves.first = halves.second = number + 1;
    }
  return 0;
}

static int reader(void *unused) {
  while (pair_go_on())
    for (int i = 0; i < 256; ++i) sink += halves_read_first() + halves_read_second();
  return 0;
}

static int __init halves_init(void) { return pair_start(writer, reader, NULL); }
static void __exit halves_exit(void) { pair_stop(); }

module_init(halves_init);
module_exit(halves_exit);
MODULE_LICENSE("GPL");
