// SPDX-License-Identifier: GPL-2.0
// The debug registers of all processors.
//
// perf gives us two breakpoints on every processor, each on a dummy word of ours: that reserves the
// registers, sets DR7 once, and routes traps to dh_touched. Arming then only writes an address
// register. Nothing more is allowed in a breakpoint's handler (perf's own calls sleep or send
// messages and wait), and it survives the return from an NMI, which restores DR7 and leaves the
// addresses alone.
//
// State, not messages: a notified processor (by NMI, which also reaches one with interrupts off)
// copies the current word of the sample and confirms the sample's generation. The end of a sample
// is not announced: a processor that traps on an old word sets its register back to the dummy. If
// others have taken the registers, no processor is notified, and values are compared.
#include <asm/apic.h>
#include <asm/cpu_entry_area.h>
#include <asm/debugreg.h>
#include <asm/desc.h>
#include <asm/nmi.h>
#include <asm/processor.h>
#include <asm/tsc.h>
#include <linux/cpu.h>
#include <linux/hw_breakpoint.h>
#include <linux/math64.h>
#include <linux/module.h>
#include <linux/perf_event.h>
#include <linux/smp.h>

#include "watch.h"

static u64 dummy[DH_SLOTS] __aligned(64);
static struct perf_event *__percpu *events[DH_SLOTS];

struct cpu_state {
  int registers[DH_SLOTS];       // which of DR0 to DR3; -1: none
  unsigned long word[DH_SLOTS];  // its intended content
  unsigned long confirmed;       // generation
  atomic_t told;                 // an NMI of ours is pending
};
static DEFINE_PER_CPU(struct cpu_state, cpus);

u64 dh_now(void) { return rdtsc_ordered(); }
NOKPROBE_SYMBOL(dh_now);

u64 dh_cycles(u64 ns) { return mul_u64_u64_div_u64(ns, tsc_khz, 1000000); }

u64 dh_ns(u64 cycles) { return mul_u64_u64_div_u64(cycles, 1000000, tsc_khz); }
NOKPROBE_SYMBOL(dh_ns);

static bool overlaps(unsigned long word, const void *object, size_t size) {
  return word < (unsigned long)object + size && (unsigned long)object < word + 8;
}
NOKPROBE_SYMBOL(overlaps);

// perf refuses breakpoints on these, and code that writes the register directly must do the same.
// Except cpu_tlbstate, which modules cannot name; no processor watches its own, because none
// accesses another's.
bool dh_is_entry_data(unsigned long address) {
  unsigned long word = address & ~7ul;
  int cpu;
  if (word >= (CPU_ENTRY_AREA_BASE & ~7ul) && word < CPU_ENTRY_AREA_BASE + CPU_ENTRY_AREA_MAP_SIZE)
    return true;
  if (overlaps(word, __per_cpu_offset, sizeof __per_cpu_offset)) return true;
  for_each_possible_cpu(cpu) {
    if (overlaps(word, &per_cpu(gdt_page, cpu), sizeof(struct gdt_page)) ||
        overlaps(word, &per_cpu(cpu_tss_rw, cpu), sizeof(struct tss_struct)) ||
        overlaps(word, &per_cpu(cpu_dr7, cpu), sizeof(unsigned long)))
      return true;
  }
  return false;
}
NOKPROBE_SYMBOL(dh_is_entry_data);

static unsigned long read_register(int number) {
  unsigned long value = 0;
  switch (number) {
    case 0:
      get_debugreg(value, 0);
      break;
    case 1:
      get_debugreg(value, 1);
      break;
    case 2:
      get_debugreg(value, 2);
      break;
    case 3:
      get_debugreg(value, 3);
      break;
  }
  return value;
}
NOKPROBE_SYMBOL(read_register);

static void watch_word(struct cpu_state *state, int slot, unsigned long word) {
  int number = state->registers[slot];
  // Other code (text patching restores what perf knows) may have written it since.
  if (read_register(number) != state->word[slot]) dh_count(lost_registers);
  state->word[slot] = word;
  switch (number) {
    case 0:
      set_debugreg(word, 0);
      break;
    case 1:
      set_debugreg(word, 1);
      break;
    case 2:
      set_debugreg(word, 2);
      break;
    case 3:
      set_debugreg(word, 3);
      break;
  }
}
NOKPROBE_SYMBOL(watch_word);

static void watch_nothing(struct cpu_state *state, int slot) {
  if (state->registers[slot] >= 0 && state->word[slot] != (unsigned long)&dummy[slot])
    watch_word(state, slot, (unsigned long)&dummy[slot]);
}
NOKPROBE_SYMBOL(watch_nothing);

static int on_nmi(unsigned int kind, struct pt_regs *regs) {
  struct cpu_state *state = this_cpu_ptr(&cpus);
  unsigned long generation;
  // Cleared first: a later notification sends another NMI.
  if (!atomic_xchg(&state->told, 0)) return NMI_DONE;
  generation = smp_load_acquire(&dh_sample.generation);
  if (generation & 1) {
    int slot = READ_ONCE(dh_sample.slot);
    unsigned long word = READ_ONCE(dh_sample.word);
    smp_rmb();
    if (READ_ONCE(dh_sample.generation) == generation && state->registers[slot] >= 0) {
      watch_word(state, slot, word);
      smp_store_release(&state->confirmed, generation);
    }
  }
  return NMI_HANDLED;
}
NOKPROBE_SYMBOL(on_nmi);

unsigned int dh_arm(void) {
  unsigned long generation = dh_sample.generation;
  u64 end = dh_now() + dh_cycles(READ_ONCE(dh_settings.acknowledge_ns));
  unsigned int confirmed = 0, others = 0;
  int cpu, me = smp_processor_id();
  if (!events[dh_sample.slot]) {
    dh_add(unarmed_processors, num_online_cpus() - 1);
    return 0;
  }
  // Our own read of the value must not trap here.
  for (int slot = 0; slot < DH_SLOTS; ++slot) watch_nothing(this_cpu_ptr(&cpus), slot);
  for_each_online_cpu(cpu) if (cpu != me && !atomic_xchg(&per_cpu(cpus, cpu).told, 1))
      apic->send_IPI(cpu, NMI_VECTOR);
  for_each_online_cpu(cpu) {
    if (cpu == me) continue;
    others++;
    while (smp_load_acquire(&per_cpu(cpus, cpu).confirmed) != generation &&
           (s64)(end - dh_now()) > 0)
      cpu_relax();
    confirmed += per_cpu(cpus, cpu).confirmed == generation;
  }
  if (confirmed == others)
    dh_count(armed_fully);
  else
    dh_add(unarmed_processors, others - confirmed);
  return confirmed;
}
NOKPROBE_SYMBOL(dh_arm);

// A processor accessed a watched word; that instruction has executed, the next one has not. If the
// sample's thread is stopped at this moment, both are at the word at one time, whichever register
// brought us here.
static void touched(struct cpu_state *state, int slot, struct pt_regs *regs) {
  int number;
  if (!(READ_ONCE(dh_sample.generation) & 1) || READ_ONCE(dh_sample.slot) != slot ||
      READ_ONCE(dh_sample.word) != state->word[slot]) {
    dh_count(old_touches);
    watch_nothing(state, slot);
    return;
  }
  if (READ_ONCE(dh_sample.cpu) == smp_processor_id() || within_module(regs->ip - 1, THIS_MODULE)) {
    dh_count(own_touches);
    return;
  }
  dh_count(touches);
  number = atomic_fetch_inc(&dh_sample.touches);
  if (number < DH_TOUCHES) {
    dh_fill_side(&dh_sample.other[number], regs, regs->ip);
  } else {
    dh_count(touches_left);
    watch_nothing(state, slot);
  }
}
NOKPROBE_SYMBOL(touched);

static void on_breakpoint(struct perf_event *event, struct perf_sample_data *data,
                          struct pt_regs *regs) {
  int slot = (int)(long)event->overflow_handler_context;
  atomic_inc(&dh_sample.readers);
  smp_mb__after_atomic();
  if (!user_mode(regs)) touched(this_cpu_ptr(&cpus), slot, regs);
  smp_mb__before_atomic();
  atomic_dec(&dh_sample.readers);
}
NOKPROBE_SYMBOL(on_breakpoint);

static void find_registers(void *unused) {
  struct cpu_state *state = this_cpu_ptr(&cpus);
  for (int slot = 0; slot < DH_SLOTS; ++slot) {
    state->registers[slot] = -1;
    state->word[slot] = (unsigned long)&dummy[slot];
    for (int number = 0; number < 4; ++number)
      if (read_register(number) == state->word[slot]) state->registers[slot] = number;
  }
}

static void reserve(int slot) {
  struct perf_event_attr attr;
  hw_breakpoint_init(&attr);
  attr.bp_addr = (unsigned long)&dummy[slot];
  attr.bp_len = HW_BREAKPOINT_LEN_8;
  attr.bp_type = slot == DH_WRITES ? HW_BREAKPOINT_W : HW_BREAKPOINT_RW;
  attr.pinned = 1;
  events[slot] = register_wide_hw_breakpoint(&attr, on_breakpoint, (void *)(long)slot);
  if (!IS_ERR((void __force *)events[slot])) return;
  pr_warn(DEADHEAT_WATCH_NAME ": a debug register is not to be had (%ld): values are compared\n",
          PTR_ERR((void __force *)events[slot]));
  events[slot] = NULL;
}

static void give_back(void) {
  for (int slot = 0; slot < DH_SLOTS; ++slot)
    if (events[slot]) unregister_wide_hw_breakpoint(events[slot]);
}

int dh_arm_init(void) {
  int error;
  if (!tsc_khz) return -ENODEV;
  for (int slot = 0; slot < DH_SLOTS; ++slot) reserve(slot);
  on_each_cpu(find_registers, NULL, 1);
  error = register_nmi_handler(NMI_LOCAL, on_nmi, 0, DEADHEAT_WATCH_NAME);
  if (error) give_back();
  return error;
}

static bool all_told(void) {
  int cpu;
  for_each_online_cpu(cpu) if (atomic_read(&per_cpu(cpus, cpu).told)) return false;
  return true;
}

void dh_arm_exit(void) {
  // No probe is left, so there are no new NMIs; pending ones must still find their handler.
  while (!all_told()) cond_resched();
  unregister_nmi_handler(NMI_LOCAL, DEADHEAT_WATCH_NAME);
  give_back();
}
