// SPDX-License-Identifier: GPL-2.0
// Workarounds for QEMU's emulation (tcg).
//
// With one thread per processor, it can miss that code is patched while it translates it (7.2 does;
// later versions lock the page first): a processor then runs code that differs from memory.
//
// A newly placed breakpoint may then never be hit. The kernel interrupts every processor after a
// patch, so none is still translating: writing the byte once more with the same value makes the
// emulator translate again.
//
// A removed breakpoint may still be hit. While the probe is known that is one more hit; once it is
// forgotten, the kernel finds no breakpoint in memory and retries, and that processor never leaves
// the instruction. So breakpoints are first removed from the code, then their bytes are written
// once more, and only then are the probes forgotten.
//
// A watchpoint restarts the instruction (in 7.2; later versions check before they store).
// cmpxchg16b has two stores. If only the second is watched, and only for writes, the first has been
// performed by then: the second attempt finds the half that it wrote itself, reports failure, and
// half of the pair is new. SLUB lost its lists that way within a minute. If the word is watched for
// reads too, the instruction restarts before it has stored anything; that costs touches by readers,
// and the emulator then does not report instructions with a lock prefix (values are compared). The
// pair is aligned, so its second half is always the odd word.
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
  // The code mapping is read-only; the same byte through another mapping is writable.
  asm volatile("lock orb $0, %0" : "+m"(alias[offset_in_page(address)]));
  vunmap(alias);
}
