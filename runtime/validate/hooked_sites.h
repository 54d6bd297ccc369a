// Sites of a program built for detection (plain deadheat-cc, gcc or clang): calls of its own hooks
// represent them, as listed in a file of the validator (option validate_sites,
// abi/validate_page.h); all other calls of hooks that only observe are switched off before main.
//
// More expensive than a build with --candidates: the nops stay, and so do the hooks of function
// ends, which show that a thread has made its access.
#pragma once

#include <stdint.h>

#include "runtime/common/mode.h"

namespace deadheat::runtime {

// Return address of a hook call, and the site that it represents. Written once except `site`, which
// becomes 0 when the module is unloaded.
struct HookedSite {
  Address pc;
  uint32_t site;
};
struct HookedSites {
  HookedSite* slots = nullptr;  // open addressing; null: none, the usual case
  uint32_t mask = 0;
};
extern HookedSites hooked;

inline uint32_t hooked_slot(Address pc) {
  return static_cast<uint32_t>((pc * 0x9e3779b97f4a7c15ULL) >> 32) & hooked.mask;
}

// visit(site) for each site that the call represents.
template <typename Visit>
inline void for_each_hooked(Address pc, Visit visit) {
  for (uint32_t i = hooked_slot(pc);; i = (i + 1) & hooked.mask) {
    const Address found = __atomic_load_n(&hooked.slots[i].pc, __ATOMIC_ACQUIRE);
    if (found == 0) return;
    const uint32_t site = __atomic_load_n(&hooked.slots[i].site, __ATOMIC_RELAXED);
    if (found == pc && site != 0) visit(site);
  }
}

void hooked_start();  // reads the file, if there is one, and plugs the loaded modules
void forget_hooked(Address begin, size_t size);  // a module was unloaded

// Some code was compiled without marks of uninstrumented code, for example by gcc: its callees and
// its assembly may synchronise unseen.
bool hooked_without_marks();

}  // namespace deadheat::runtime
