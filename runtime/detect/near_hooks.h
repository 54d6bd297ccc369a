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

// A module whose checks are inlined (it imports the words that they compare) calls a hook only
// after it found the access not covered: its hooks do not look the same way again, but go to the
// slow path at once, the one that looks for itself. It may also have code without inlined checks.

// The slow paths, by log2 of the size, reads then writes.
inline constexpr unsigned kNearSizes = 5;
using SlowWay = void(Address address, Address pc);
struct SlowWays {
  SlowWay* ways[2][kNearSizes];
};
// Before the module's code runs. `after`: after the hook's own look; `first`: before any.
void start_near_hooks(const SlowWays& after, const SlowWays& first);
// All loaded modules not yet processed.
void plug_near_hooks();

}  // namespace deadheat::runtime
