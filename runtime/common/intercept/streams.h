// stdio streams as channels, for the functions that read, write, print and scan.
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "runtime/common/mode.h"

namespace deadheat::runtime {

inline constexpr size_t kAnySize = SIZE_MAX;  // not known in advance

// Before a call that writes so much to the stream, and after one that may have filled its buffer.
void stream_sends(Address pc, const FILE* file, size_t size);
void stream_received(Address pc, const FILE* file);

}  // namespace deadheat::runtime
