// CRC-32C (Castagnoli), the checksum of the trace container. Uses the processor's instruction if
// available.
#pragma once

#include <cstddef>
#include <cstdint>

namespace deadheat::trace {

uint32_t crc32c(const void* data, size_t size, uint32_t seed = 0);
uint32_t crc32c_portable(const void* data, size_t size, uint32_t seed = 0);

}  // namespace deadheat::trace
