// Stacks stored for later (allocations, thread creations), each once. Ids are permanent; 0 is
// "none" (also without memory: counted).
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "runtime/common/mode.h"

namespace deadheat::runtime {

using StackId = uint32_t;
inline constexpr size_t kMaxKeptFrames = 64;

// frames: call sites, outermost first; pc: the thread's position.
StackId keep_stack(const Address* frames, size_t depth, Address pc);

struct KeptStack {
  Address frames[kMaxKeptFrames];  // innermost first
  size_t depth = 0;
};
void get_stack(StackId id, KeptStack* out);
uint64_t stacks_dropped();
void stacks_after_fork();

}  // namespace deadheat::runtime
