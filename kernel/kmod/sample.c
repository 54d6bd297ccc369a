// SPDX-License-Identifier: GPL-2.0
// One sample: a thread is stopped in its breakpoint's handler, just before an access, while the
// other processors' registers watch the word.
//
// The handler runs with interrupts off, so the delay is short and bounded: acknowledge_ns plus one
// and a half times delay_ns, or atomic_delay_ns if the code itself had interrupts off or was in an
// interrupt (others may be waiting for this processor). A thread that holds a lock that orders the
// access still holds it, so any touch meanwhile happens without that lock.
#include <asm/ptrace.h>
#include <linux/module.h>
#include <linux/preempt.h>
#include <linux/sched.h>
#include <linux/sched/task_stack.h>
#include <linux/stacktrace.h>
#include <linux/uaccess.h>

#include "watch.h"

struct dh_sample dh_sample;
static u64 samples;  // written by the sampling processor
static u32 random_state;

static const u8 kRegisters[16] = {
    offsetof(struct pt_regs, ax) / 8,  offsetof(struct pt_regs, cx) / 8,
    offsetof(struct pt_regs, dx) / 8,  offsetof(struct pt_regs, bx) / 8,
    offsetof(struct pt_regs, sp) / 8,  offsetof(struct pt_regs, bp) / 8,
    offsetof(struct pt_regs, si) / 8,  offsetof(struct pt_regs, di) / 8,
    offsetof(struct pt_regs, r8) / 8,  offsetof(struct pt_regs, r9) / 8,
    offsetof(struct pt_regs, r10) / 8, offsetof(struct pt_regs, r11) / 8,
    offsetof(struct pt_regs, r12) / 8, offsetof(struct pt_regs, r13) / 8,
    offsetof(struct pt_regs, r14) / 8, offsetof(struct pt_regs, r15) / 8,
};

static unsigned long register_value(const struct pt_regs *regs, u8 number) {
  return number < 16 ? ((const unsigned long *)regs)[kRegisters[number]] : 0;
}
NOKPROBE_SYMBOL(register_value);

static unsigned long effective_address(const struct deadheat_watch_site *site,
                                       const struct pt_regs *regs) {
  unsigned long address = site->displacement;
  if (site->flags & DEADHEAT_WATCH_PC_RELATIVE) address += site->address + site->length;
  address += register_value(regs, site->base);
  address += register_value(regs, site->index) * site->scale;
  if (site->flags & DEADHEAT_WATCH_PER_CPU) address += this_cpu_read(this_cpu_off);
  return address;
}
NOKPROBE_SYMBOL(effective_address);

static u32 next_random(void) {
  random_state = random_state * 1664525u + 1013904223u + dh_settings.seed;
  return random_state >> 8;
}
NOKPROBE_SYMBOL(next_random);

static bool on_own_stack(unsigned long address, const struct pt_regs *regs) {
  unsigned long stack = (unsigned long)task_stack_page(current);
  if (address >= stack && address < stack + THREAD_SIZE) return true;
  // Interrupts have their own stacks.
  return (address ^ regs->sp) < PAGE_SIZE;
}
NOKPROBE_SYMBOL(on_own_stack);

// The trap that brought us here counts as an NMI itself; below it is the interrupted context.
static u32 context_flags(const struct pt_regs *regs) {
  u32 count = preempt_count() - NMI_OFFSET - HARDIRQ_OFFSET, flags = 0;
  if (!(regs->flags & X86_EFLAGS_IF)) flags |= DEADHEAT_WATCH_IRQS_OFF;
  if (count & SOFTIRQ_OFFSET) flags |= DEADHEAT_WATCH_IN_SOFTIRQ;
  if (count & HARDIRQ_MASK) flags |= DEADHEAT_WATCH_IN_HARDIRQ;
  return flags;
}
NOKPROBE_SYMBOL(context_flags);

// The callers of the interrupted place, as the unwinder sees them from here: our own frames and the
// trap's come first and are dropped. The unwinder cannot unwind from a breakpoint's copy of an
// instruction, so it is told that the trap came from the original.
static u32 callers_of(u64 *to, struct pt_regs *regs, unsigned long original) {
  unsigned long trace[DEADHEAT_WATCH_STACK + 16], ip = regs->ip;
  unsigned int length, from = 0;
  u32 depth = 0;
  regs->ip = original;
  length = stack_trace_save(trace, ARRAY_SIZE(trace), 0);
  regs->ip = ip;
  while (from < length && trace[from] != original) from++;
  for (from++; from < length && depth < DEADHEAT_WATCH_STACK; ++from) to[depth++] = trace[from];
  return depth;
}
NOKPROBE_SYMBOL(callers_of);

void dh_fill_side(struct deadheat_watch_side *side, struct pt_regs *regs, unsigned long ip) {
  side->ip = dh_original(ip);
  side->depth = callers_of(side->stack, regs, side->ip);
  side->flags = context_flags(regs) | (side->ip != ip ? DEADHEAT_WATCH_SLOT_MAPPED : 0);
  side->gs_base = this_cpu_read(this_cpu_off);
  for (int i = 0; i < 16; ++i) side->registers[i] = register_value(regs, i);
  side->pid = current->pid;
  side->cpu = smp_processor_id();
  memcpy(side->name, current->comm, sizeof side->name);
  side->name[sizeof side->name - 1] = 0;
}
NOKPROBE_SYMBOL(dh_fill_side);

static bool read_value(u8 *to, unsigned long address, u32 size) {
  if (address < TASK_SIZE_MAX)
    return !copy_from_user_nofault(to, (const void __user *)address, size);
  return !copy_from_kernel_nofault(to, (const void *)address, size);
}
NOKPROBE_SYMBOL(read_value);

static void stand(u32 context) {
  u64 mean = context ? READ_ONCE(dh_settings.atomic_delay_ns) : READ_ONCE(dh_settings.delay_ns);
  u64 delay = mean / 2 + (mean * (next_random() & 1023) >> 10);
  u64 end = dh_now() + dh_cycles(delay);
  while ((s64)(end - dh_now()) > 0) cpu_relax();
}
NOKPROBE_SYMBOL(stand);

static enum dh_slot slot_for(unsigned long word, const struct deadheat_watch_site *site) {
  if (site->flags & DEADHEAT_WATCH_WRITES) return DH_READS_AND_WRITES;
  if (!dh_loses_half(word)) return DH_WRITES;
  dh_count(reads_too);
  return DH_READS_AND_WRITES;
}
NOKPROBE_SYMBOL(slot_for);

static void begin(unsigned long address, const struct deadheat_watch_site *site) {
  dh_sample.word = address & ~7ul;
  dh_sample.slot = slot_for(dh_sample.word, site);
  dh_sample.cpu = smp_processor_id();
  atomic_set(&dh_sample.touches, 0);
  smp_store_release(&dh_sample.generation, dh_sample.generation + 1);
  smp_mb();
}
NOKPROBE_SYMBOL(begin);

// When this returns, no processor writes to the sample any more.
static void end(void) {
  smp_store_release(&dh_sample.generation, dh_sample.generation + 1);
  smp_mb();
  while (atomic_read(&dh_sample.readers)) cpu_relax();
  smp_rmb();
}
NOKPROBE_SYMBOL(end);

static void keep(struct dh_site *site, struct pt_regs *regs, struct deadheat_watch_record *like) {
  u32 touches = atomic_read(&dh_sample.touches);
  u32 kept = min_t(u32, touches, DH_TOUCHES);
  atomic_inc(&site->fruitful);
  for (u32 i = 0; i < max_t(u32, kept, 1); ++i) {
    struct deadheat_watch_record *record = dh_ring_begin();
    if (!record) continue;
    // Not through a copy on the stack: a record is large.
    record->sample = samples;
    record->address = like->address;
    record->size = like->size;
    record->touches = touches;
    record->armed = like->armed;
    memcpy(record->before, like->before, sizeof record->before);
    memcpy(record->after, like->after, sizeof record->after);
    dh_fill_side(&record->held, regs, site->what.address);
    if (i < kept)
      record->other = dh_sample.other[i];
    else
      memset(&record->other, 0, sizeof record->other);
    dh_ring_commit();
  }
}
NOKPROBE_SYMBOL(keep);

static struct deadheat_watch_record scratch;  // of the sampling processor

void dh_take_sample(struct dh_site *site, struct pt_regs *regs) {
  unsigned long address = effective_address(&site->what, regs);
  u32 size = min_t(u32, site->what.size, DEADHEAT_WATCH_BYTES);
  bool user = address < TASK_SIZE_MAX, changed;
  u64 start = dh_now();
  if (on_own_stack(address, regs)) {
    dh_count(own_stack);
    atomic_inc(&site->own_stack);
    return;
  }
  if (dh_is_entry_data(address)) {
    dh_count(entry_data);
    return;
  }
  memset(scratch.before, 0, sizeof scratch.before);
  memset(scratch.after, 0, sizeof scratch.after);
  if (!read_value(scratch.before, address, size)) {
    dh_count(unreadable);
    return;
  }
  samples++;
  dh_count(samples);
  atomic_inc(&site->samples);
  scratch.address = address;
  scratch.size = size;
  scratch.armed = 0;
  if (user) {
    // Another process may use the same address: registers would trap on its accesses.
    dh_count(user_addresses);
    stand(context_flags(regs));
  } else {
    if ((address & 7) + site->what.size > 8) dh_count(partly_watched);
    begin(address, &site->what);
    scratch.armed = dh_arm();
    dh_add(arm_ns, dh_ns(dh_now() - start));
    stand(context_flags(regs));
    end();
  }
  changed =
      read_value(scratch.after, address, size) && memcmp(scratch.before, scratch.after, size) != 0;
  if (changed) dh_count(changed);
  if (user) {
    if (changed) dh_count(user_changed);
  } else if (changed || atomic_read(&dh_sample.touches)) {
    keep(site, regs, &scratch);
  }
}
NOKPROBE_SYMBOL(dh_take_sample);
