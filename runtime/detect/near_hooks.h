// Access hooks next to the module that calls them.
//
// A hook in a shared library is reached through the module's PLT: an indirect jump, which costs as
// much as the hook's own check. So each instrumented module gets a page within reach of a direct
// jump with the fast paths of the access hooks, with the addresses that they need written in, and
// its PLT entries are changed to jump there. The code belongs to this mode; other modes may do as
// they like. If the kernel refuses (no room nearby, code that cannot be made writable), the PLT
// stays unchanged and everything works, but slower.
#pragma once

#include "runtime/common/modules.h"

namespace deadheat::runtime {

// Before the module's code runs. The slow paths, by log2 of the size, reads then writes.
inline constexpr unsigned kNearSizes = 5;
using SlowWay = void(Address address, Address pc);
void start_near_hooks(SlowWay* const (&slow)[2][kNearSizes]);
// All loaded modules not yet processed.
void plug_near_hooks();

}  // namespace deadheat::runtime
