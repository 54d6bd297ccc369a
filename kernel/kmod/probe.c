// SPDX-License-Identifier: GPL-2.0
// Kprobes in their slots, and the decision which hits become samples.
//
// Sites were decoded in user space before any probe existed. Here their bytes must still be the
// same, and kprobes itself refuses addresses on its blacklist or inside an instruction. An (empty)
// post handler prevents a probe from being turned into a jump, whose copy would run at an address
// that could not be mapped back.
#include <linux/delay.h>
#include <linux/module.h>
#include <linux/preempt.h>
#include <linux/rcupdate.h>
#include <linux/uaccess.h>
#include <linux/vmalloc.h>

#include "watch.h"

static struct dh_site sites[DEADHEAT_WATCH_SITES];
static atomic_t sampling;  // a sample is being taken
static u64 rest_until;     // cycles; written by the sampling processor

static void after_access(struct kprobe *probe, struct pt_regs *regs, unsigned long flags) {}
NOKPROBE_SYMBOL(after_access);

static void sample_and_rest(struct dh_site *site, struct pt_regs *regs) {
  u64 start = dh_now(), took;
  u32 share = max_t(u32, READ_ONCE(dh_settings.share_permille), 1);
  dh_take_sample(site, regs);
  took = dh_now() - start;
  WRITE_ONCE(rest_until, dh_now() + (share >= 1000 ? 0 : took * (1000 - share) / share));
  dh_add(sample_ns, dh_ns(took));
  if (dh_ns(took) > this_cpu_read(dh_counts[DEADHEAT_WATCH_longest_ns]))
    this_cpu_write(dh_counts[DEADHEAT_WATCH_longest_ns], dh_ns(took));
}
NOKPROBE_SYMBOL(sample_and_rest);

static bool had_enough(struct dh_site *site) {
  u32 most = READ_ONCE(dh_settings.samples_per_site);
  return most && atomic_read(&site->samples) >= most;
}
NOKPROBE_SYMBOL(had_enough);

static int before_access(struct kprobe *probe, struct pt_regs *regs) {
  struct dh_site *site = container_of(probe, struct dh_site, probe);
  dh_count(hits);
  atomic_inc(&site->hits);
  // The breakpoint's own trap is one level; a second one is a real NMI, or a debug trap of ours.
  if ((preempt_count() & NMI_MASK) > NMI_OFFSET) {
    dh_count(in_nmi);
  } else if ((s64)(READ_ONCE(rest_until) - dh_now()) > 0) {
    dh_count(over_share);
  } else if (had_enough(site)) {
    dh_count(site_had_enough);
  } else if (atomic_xchg(&sampling, 1)) {
    dh_count(busy);
  } else {
    sample_and_rest(site, regs);
    atomic_set_release(&sampling, 0);
  }
  return 0;
}
NOKPROBE_SYMBOL(before_access);

unsigned long dh_original(unsigned long ip) {
  for (u32 i = 0; i < DEADHEAT_WATCH_SITES; ++i) {
    unsigned long copy = (unsigned long)READ_ONCE(sites[i].probe.ainsn.insn);
    // Behind the instruction is inside the copy too; at its beginning nothing was accessed yet.
    if (copy && ip > copy && ip <= copy + sites[i].what.length)
      return sites[i].what.address + (ip - copy);
  }
  return ip;
}
NOKPROBE_SYMBOL(dh_original);

// Its copy of the instruction may belong to another probe by now.
static void forget(struct dh_site *site) { WRITE_ONCE(site->probe.ainsn.insn, NULL); }

static int place_one(struct dh_site *site, const struct deadheat_watch_site *what) {
  u8 bytes[sizeof what->bytes];
  int error;
  site->what = *what;
  if (what->length == 0 || what->length > sizeof bytes || what->size == 0) return -EINVAL;
  if (what->address < TASK_SIZE_MAX || within_module(what->address, THIS_MODULE)) return -EINVAL;
  if (copy_from_kernel_nofault(bytes, (void *)what->address, what->length)) return -EFAULT;
  if (memcmp(bytes, what->bytes, what->length) != 0) return -ESTALE;
  site->probe.addr = (kprobe_opcode_t *)what->address;
  site->probe.pre_handler = before_access;
  site->probe.post_handler = after_access;
  error = register_kprobe(&site->probe);
  site->placed = error == 0;
  return error;
}

void dh_place(const struct deadheat_watch_site *wanted, struct deadheat_watch_answer *answers,
              u32 count) {
  u32 slot = 0;
  for (u32 i = 0; i < count; ++i) {
    while (slot < DEADHEAT_WATCH_SITES && sites[slot].placed) slot++;
    answers[i].slot = slot;
    if (slot == DEADHEAT_WATCH_SITES) {
      answers[i].error = -ENOSPC;
      continue;
    }
    memset(&sites[slot], 0, sizeof sites[slot]);
    answers[i].error = place_one(&sites[slot], &wanted[i]);
    if (answers[i].error)
      forget(&sites[slot]);
    else if (dh_emulated())
      dh_rewrite(wanted[i].address);
  }
}

static void take_out(struct kprobe **probes, u32 count) {
  for (u32 i = 0; i < count; ++i) disable_kprobe(probes[i]);
  if (!dh_emulated()) return;
  for (int times = 0; times < 3; ++times) {
    msleep(10);
    synchronize_rcu();
    for (u32 i = 0; i < count; ++i) dh_rewrite((unsigned long)probes[i]->addr);
  }
}

void dh_take(const u32 *slots, u32 count) {
  static struct kprobe *probes[DEADHEAT_WATCH_SITES];  // the device's lock is held
  u32 number = 0;
  for (u32 i = 0; i < count; ++i) {
    struct dh_site *site = &sites[slots[i] % DEADHEAT_WATCH_SITES];
    if (!site->placed) continue;
    site->placed = false;
    probes[number++] = &site->probe;
  }
  if (number == 0) return;
  take_out(probes, number);
  unregister_kprobes(probes, number);
  for (u32 i = 0; i < number; ++i) {
    dh_add(missed, probes[i]->nmissed);
    forget(container_of(probes[i], struct dh_site, probe));
  }
}

void dh_take_all(void) {
  static u32 all[DEADHEAT_WATCH_SITES];
  for (u32 i = 0; i < DEADHEAT_WATCH_SITES; ++i) all[i] = i;
  dh_take(all, DEADHEAT_WATCH_SITES);
}

void dh_look(struct deadheat_watch_look *look) {
  for (u32 i = 0; i < DEADHEAT_WATCH_SITES; ++i) {
    look->slots[i].hits = atomic_xchg(&sites[i].hits, 0);
    look->slots[i].samples = atomic_xchg(&sites[i].samples, 0);
    look->slots[i].fruitful = atomic_xchg(&sites[i].fruitful, 0);
    look->slots[i].own_stack = atomic_xchg(&sites[i].own_stack, 0);
  }
}

static int pass(struct kprobe *probe, struct pt_regs *regs) { return 0; }
NOKPROBE_SYMBOL(pass);

// Not traced: a probe at a traced function's entry is a call rather than a breakpoint.
static noinline notrace void to_be_hit(void) { asm volatile("nop"); }

u32 dh_measure_hit(void) {
  struct kprobe probe = {
      .addr = (kprobe_opcode_t *)to_be_hit, .pre_handler = pass, .post_handler = after_access};
  const u32 times = 1000;
  u64 start;
  if (register_kprobe(&probe) != 0) return 0;
  start = dh_now();
  for (u32 i = 0; i < times; ++i) to_be_hit();
  start = dh_now() - start;
  take_out((struct kprobe *[]){&probe}, 1);
  unregister_kprobe(&probe);
  return (u32)div_u64(dh_ns(start), times);
}
