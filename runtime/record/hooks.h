#pragma once

#include "runtime/common/mode.h"

namespace deadheat::runtime {

// An access outside the fast path: any length, ignored, or inside a region.
void record_access(Thread* self, Address pc, Address address, size_t size, bool write);
void atomics_after_fork();

}  // namespace deadheat::runtime
