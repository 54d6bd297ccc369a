// Access hooks beside the module that calls them.
//
// A hook in a shared library is reached through the module's PLT: an indirect jump, which costs as
// much as the hook's own check. So each instrumented module gets a page within reach of a direct
// jump that holds the fast ways of the access hooks, with the addresses that they need written in,
// and its PLT entries are changed to jump there. The code is this mode's: other modes do as they
// like. Where the kernel refuses (no room near, code that may not be made writable), the PLT stays
// as it is and everything works, slower.
#pragma once

#include "runtime/common/modules.h"

namespace deadheat::runtime {

// Before the module's code runs. The slow ways, by log2 of the size, reads then writes.
inline constexpr unsigned kNearSizes = 5;
using SlowWay = void(Address address, Address pc);
void start_near_hooks(SlowWay* const (&slow)[2][kNearSizes]);
// All loaded modules that were not done yet.
void plug_near_hooks();

}  // namespace deadheat::runtime
