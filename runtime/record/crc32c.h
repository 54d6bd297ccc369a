// The container's checksum. The host's twin is lib/trace/crc32c.h, which this code may not see.
#pragma once

#include <stddef.h>
#include <stdint.h>

namespace deadheat::runtime {

uint32_t crc32c(const void* data, size_t size);

}  // namespace deadheat::runtime
