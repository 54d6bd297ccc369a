// SPDX-License-Identifier: GPL-2.0
// RWrace of the DRDDR paper (Figure 2) and its safe twins: one thread writes random numbers to a
// word, another reads them. kind=race is the paper's; the others are ordered, each in its own way.
//
// The accesses to the word are in functions of their own (rwrace_write_*, rwrace_read_*), which a
// watch chooses by name.
#include <linux/hrtimer.h>
#include <linux/irqflags.h>
#include <linux/percpu.h>
#include <linux/random.h>
#include <linux/spinlock.h>
#include <linux/version.h>

#include "pair.h"

static char *kind = "race";
module_param(kind, charp, 0444);

static unsigned long word ____cacheline_aligned;
static unsigned long sink[2];
static DEFINE_SPINLOCK(lock);
static atomic_long_t counter = ATOMIC_LONG_INIT(0);
static DEFINE_PER_CPU(unsigned long, own_word);

// RACE! word: rwrace_write_race against rwrace_read_race
static noinline void rwrace_write_race(unsigned long value) { word = value; }
static noinline unsigned long rwrace_read_race(void) { return word; }

// NORACE: one lock
static noinline void rwrace_write_spinlock(unsigned long value) {
  spin_lock(&lock);
  word = value;
  spin_unlock(&lock);
}
static noinline unsigned long rwrace_read_spinlock(void) {
  unsigned long value;
  spin_lock(&lock);
  value = word;
  spin_unlock(&lock);
  return value;
}

// NORACE: read-modify-writes with a lock prefix
static noinline void rwrace_write_locked(unsigned long value) { atomic_long_add(value, &counter); }
static noinline unsigned long rwrace_read_locked(void) {
  return atomic_long_fetch_add(1, &counter);
}

// NORACE: a word for each processor; the same instructions on both
static noinline void rwrace_write_percpu(unsigned long value) { this_cpu_write(own_word, value); }
static noinline unsigned long rwrace_read_percpu(void) { return this_cpu_read(own_word); }

// NORACE: one processor's alone, shared with its timer interrupt, which is off meanwhile
static noinline void rwrace_write_irqs_off(unsigned long value) {
  unsigned long flags;
  local_irq_save(flags);
  word = value;
  word += value;
  local_irq_restore(flags);
}
static noinline unsigned long rwrace_read_irqs_off(void) { return word; }

// Collision, never more: marked on both sides
static noinline void rwrace_write_once(unsigned long value) { WRITE_ONCE(word, value); }
static noinline unsigned long rwrace_read_once(void) { return READ_ONCE(word); }

static const struct {
  const char *name;
  void (*write)(unsigned long);
  unsigned long (*read)(void);
} kKinds[] = {
    {"race", rwrace_write_race, rwrace_read_race},
    {"spinlock", rwrace_write_spinlock, rwrace_read_spinlock},
    {"locked", rwrace_write_locked, rwrace_read_locked},
    {"percpu", rwrace_write_percpu, rwrace_read_percpu},
    {"irqs_off", rwrace_write_irqs_off, rwrace_read_irqs_off},
    {"once", rwrace_write_once, rwrace_read_once},
};
static int chosen = -1;
static struct hrtimer timer;
static bool by_timer;

static enum hrtimer_restart on_timer(struct hrtimer *unused) {
  sink[1] += rwrace_read_irqs_off();
  hrtimer_forward_now(&timer, ns_to_ktime(200000));
  return HRTIMER_RESTART;
}

static int writer(void *unused) {
  unsigned long value = get_random_u32();
  if (by_timer) hrtimer_start(&timer, ns_to_ktime(200000), HRTIMER_MODE_REL_PINNED_HARD);
  while (pair_go_on())
    for (int i = 0; i < 256; ++i) {
      value = value * 6364136223846793005ul + 1442695040888963407ul;
      kKinds[chosen].write(value);
    }
  if (by_timer) hrtimer_cancel(&timer);
  return 0;
}

static int reader(void *unused) {
  while (pair_go_on())
    for (int i = 0; i < 256 && !by_timer; ++i) sink[0] += kKinds[chosen].read();
  return 0;
}

static int __init rwrace_init(void) {
  for (int i = 0; i < ARRAY_SIZE(kKinds); ++i)
    if (strcmp(kind, kKinds[i].name) == 0) chosen = i;
  if (chosen < 0) return -EINVAL;
  by_timer = strcmp(kind, "irqs_off") == 0;
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 13, 0)
  hrtimer_setup(&timer, on_timer, CLOCK_MONOTONIC, HRTIMER_MODE_REL_PINNED_HARD);
#else
  hrtimer_init(&timer, CLOCK_MONOTONIC, HRTIMER_MODE_REL_PINNED_HARD);
  timer.function = on_timer;
#endif
  return pair_start(writer, reader, NULL);
}

static void __exit rwrace_exit(void) { pair_stop(); }

module_init(rwrace_init);
module_exit(rwrace_exit);
MODULE_LICENSE("GPL");
