// SPDX-License-Identifier: GPL-2.0
// The module's parts and their interfaces.
//
//   device.c  open, ioctl, read: what user space sees
//   probe.c   kprobes in their slots; decides which hits become samples
//   sample.c  one sample: address, arm, wait, compare, record
//   arm.c     the debug registers of all processors
//   emulator.c  workarounds for QEMU
//   ring.c    records on their way to user space
//
// One sample at a time in the whole machine: two debug registers per processor are ours, one that
// traps writes and one that traps reads and writes; the other two stay free for others.
#ifndef DEADHEAT_KMOD_WATCH_H_
#define DEADHEAT_KMOD_WATCH_H_

#include <linux/atomic.h>
#include <linux/kprobes.h>
#include <linux/percpu.h>
#include <linux/types.h>

#include "abi/kernel_watch.h"

#define DH_TOUCHES 4  // kept per sample

enum dh_slot { DH_WRITES, DH_READS_AND_WRITES, DH_SLOTS };

struct dh_site {
  struct kprobe probe;
  struct deadheat_watch_site what;
  atomic_t hits, samples, fruitful, own_stack;
  bool placed;
};

// The current sample. `generation` is odd while its thread is stopped.
struct dh_sample {
  unsigned long generation;
  unsigned long word;  // what the registers watch: 8 bytes, aligned
  int slot;
  int cpu;
  atomic_t readers;  // processors inside a touch: the sample ends after them
  atomic_t touches;
  struct deadheat_watch_side other[DH_TOUCHES];
};

extern struct dh_sample dh_sample;
extern struct deadheat_watch_settings dh_settings;

DECLARE_PER_CPU(u64[DEADHEAT_WATCH_COUNTER_COUNT], dh_counts);
#define dh_add(name, n) this_cpu_add(dh_counts[DEADHEAT_WATCH_##name], (n))
#define dh_count(name) dh_add(name, 1)

// arm.c
int dh_arm_init(void);
void dh_arm_exit(void);
// Tells every other processor of dh_sample and waits a bounded time; returns how many confirmed.
unsigned int dh_arm(void);
// Data that the entry of a debug trap itself reads: a watchpoint there would trap for ever.
bool dh_is_entry_data(unsigned long address);
u64 dh_now(void);  // cycles; safe anywhere
u64 dh_cycles(u64 ns);
u64 dh_ns(u64 cycles);

// probe.c
void dh_place(const struct deadheat_watch_site *sites, struct deadheat_watch_answer *answers,
              u32 count);
// When this returns, no handler of these slots runs any more.
void dh_take(const u32 *slots, u32 count);
void dh_take_all(void);
void dh_look(struct deadheat_watch_look *look);
u32 dh_measure_hit(void);  // ns; 0: could not be measured
// The real address of the instruction before `ip`, if it ran in a probe's copy.
unsigned long dh_original(unsigned long ip);

// sample.c
void dh_take_sample(struct dh_site *site, struct pt_regs *regs);
void dh_fill_side(struct deadheat_watch_side *side, struct pt_regs *regs, unsigned long ip);

// emulator.c
void dh_emulator_init(void);
bool dh_emulated(void);
// Whether a write to this word goes wrong if it hits a watchpoint for writes.
bool dh_loses_half(unsigned long word);
void dh_rewrite(unsigned long address);

// ring.c
int dh_ring_init(void);
void dh_ring_exit(void);
void dh_ring_clear(void);
// For one writer at a time: the sampling processor. NULL if full.
struct deadheat_watch_record *dh_ring_begin(void);
void dh_ring_commit(void);
ssize_t dh_ring_read(char __user *to, size_t size);

#endif  // DEADHEAT_KMOD_WATCH_H_
