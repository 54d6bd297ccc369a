#pragma once

#include "runtime/common/mode.h"

namespace deadheat::runtime {

// An access that the quick way does not take: any length, ignored, inside a region.
void record_access(Thread* self, Address pc, Address address, size_t size, bool write);
void atomics_after_fork();

}  // namespace deadheat::runtime
