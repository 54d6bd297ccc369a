// SPDX-License-Identifier: GPL-2.0
// A batch of kprobes, and which of their hits become samples.
//
// Sites were decoded in user space before any probe was there; here their bytes must still be the
// same, and kprobes itself refuses what is on its blacklist or no beginning of an instruction. An
// (empty) post handler keeps a probe from being turned into a jump, whose copy would run at an
// address that nobody could map back.
#include <linux/delay.h>
#include <linux/module.h>
#include <linux/preempt.h>
#include <linux/rcupdate.h>
#include <linux/uaccess.h>
#include <linux/vmalloc.h>

#include "watch.h"

static struct dh_site sites[DEADHEAT_WATCH_SITES];
static u32 site_count;
static atomic_t sampling;  // somebody takes a sample
static u64 rest_until;     // cycles; by whoever takes the sample

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
  // The breakpoint's own trap is one level; a second is a real NMI, or a debug trap of ours.
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
  u32 count = READ_ONCE(site_count);
  for (u32 i = 0; i < count; ++i) {
    unsigned long copy = (unsigned long)sites[i].probe.ainsn.insn;
    // Behind the instruction is inside the copy too; at its beginning nothing was accessed yet.
    if (copy && ip > copy && ip <= copy + sites[i].what.length)
      return sites[i].what.address + (ip - copy);
  }
  return ip;
}
NOKPROBE_SYMBOL(dh_original);

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
  smp_store_release(&site->placed, error == 0);
  return error;
}

int dh_place(const struct deadheat_watch_site *wanted, struct deadheat_watch_answer *answers,
             u32 count) {
  int placed = 0;
  if (site_count != 0 || count > DEADHEAT_WATCH_SITES) return -EBUSY;
  for (u32 i = 0; i < count; ++i) {
    memset(&answers[i], 0, sizeof answers[i]);
    // Known before it is armed: the first hit may need to be mapped back.
    memset(&sites[i], 0, sizeof sites[i]);
    smp_store_release(&site_count, i + 1);
    answers[i].error = place_one(&sites[i], &wanted[i]);
    placed += answers[i].error == 0;
  }
  return placed;
}

static void take_out(void) {
  for (u32 i = 0; i < site_count; ++i)
    if (sites[i].placed) disable_kprobe(&sites[i].probe);
  if (!dh_emulated()) return;
  for (int times = 0; times < 3; ++times) {
    msleep(10);
    synchronize_rcu();
    for (u32 i = 0; i < site_count; ++i)
      if (sites[i].placed) dh_rewrite(sites[i].what.address);
  }
}

// When this returns, no handler of the batch runs any more.
void dh_take(struct deadheat_watch_answer *answers, u32 count) {
  static struct kprobe *probes[DEADHEAT_WATCH_SITES];
  int number = 0;
  for (u32 i = 0; i < site_count; ++i)
    if (sites[i].placed) probes[number++] = &sites[i].probe;
  if (number) take_out();
  unregister_kprobes(probes, number);
  for (u32 i = 0; i < site_count; ++i) {
    dh_add(missed, sites[i].probe.nmissed);
    if (i >= count) continue;
    answers[i].error = sites[i].placed ? 0 : -ENOENT;
    answers[i].hits = atomic_read(&sites[i].hits);
    answers[i].samples = atomic_read(&sites[i].samples);
    answers[i].fruitful = atomic_read(&sites[i].fruitful);
  }
  WRITE_ONCE(site_count, 0);
}
