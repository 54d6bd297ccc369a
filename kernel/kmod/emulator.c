// SPDX-License-Identifier: GPL-2.0
// What QEMU's emulation (tcg) needs besides.
//
// With one thread for each processor, it can miss that code is patched while it translates it (7.2
// does; later ones lock the page first): what one processor runs is then not what is in memory.
//
// A breakpoint that was placed is never hit there. The kernel interrupts every processor after a
// patch, so none is in the middle of a translation any more: writing the byte once more with what
// it holds makes the emulator translate anew.
//
// A breakpoint that was taken out is still hit. As long as the probe is known that is one more hit;
// once it is forgotten, the kernel finds no breakpoint in memory and tries again, and that
// processor never leaves the instruction. So breakpoints are taken out of the code first, their
// bytes are written once more, and only then are the probes forgotten.
//
// A watchpoint makes it begin the instruction again (7.2 does; later ones look before they store).
// cmpxchg16b has two stores. Where only the second one is watched, and only for writes, the first
// one is done by then: the second try finds the half that it has itself written, says that it
// failed, and half of the pair is the new one. SLUB lost its lists that way, within a minute.
// Watched for reads too, the instruction begins again before it has stored anything; that costs
// touches by readers, and the emulator says nothing of instructions with a lock prefix then
// (values are compared). The pair is aligned, so its second half is always the odd word.
#include <asm/processor.h>
#include <linux/kprobes.h>
#include <linux/mm.h>
#include <linux/vmalloc.h>

#include "watch.h"

static bool emulated;

void dh_emulator_init(void) {
  emulated = boot_cpu_has(X86_FEATURE_HYPERVISOR) && hypervisor_cpuid_base("TCGTCGTCGTCG", 0);
}

bool dh_emulated(void) { return emulated; }

bool dh_loses_half(unsigned long word) { return emulated && (word & 8); }
NOKPROBE_SYMBOL(dh_loses_half);

void dh_rewrite(unsigned long address) {
  bool in_module = address >= MODULES_VADDR && address < MODULES_END;
  struct page *page = in_module ? vmalloc_to_page((void *)address) : virt_to_page((void *)address);
  u8 *alias = page ? vmap(&page, 1, VM_MAP, PAGE_KERNEL) : NULL;
  if (!alias) return;
  // Code itself is read-only; the same byte through another mapping is not.
  asm volatile("lock orb $0, %0" : "+m"(alias[offset_in_page(address)]));
  vunmap(alias);
}
