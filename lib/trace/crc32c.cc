#include "lib/trace/crc32c.h"

#include <array>
#include <cstring>

#if defined(__x86_64__)
#include <nmmintrin.h>
#endif

namespace deadheat::trace {
namespace {

constexpr std::array<uint32_t, 256> kTable = [] {
  std::array<uint32_t, 256> table{};
  for (uint32_t byte = 0; byte < 256; ++byte) {
    uint32_t crc = byte;
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) ? 0x82f63b78U : 0U);
    table[byte] = crc;
  }
  return table;
}();

#if defined(__x86_64__)
__attribute__((target("sse4.2"))) uint32_t crc32c_sse42(const void* data, size_t size,
                                                        uint32_t seed) {
  const auto* bytes = static_cast<const unsigned char*>(data);
  uint64_t crc = ~seed;
  for (; size >= 8; size -= 8, bytes += 8) {
    uint64_t word;
    std::memcpy(&word, bytes, 8);
    crc = _mm_crc32_u64(crc, word);
  }
  auto low = static_cast<uint32_t>(crc);
  for (; size > 0; --size, ++bytes) low = _mm_crc32_u8(low, *bytes);
  return ~low;
}
#endif

}  // namespace

uint32_t crc32c_portable(const void* data, size_t size, uint32_t seed) {
  const auto* bytes = static_cast<const unsigned char*>(data);
  uint32_t crc = ~seed;
  for (size_t i = 0; i < size; ++i) crc = (crc >> 8) ^ kTable[(crc ^ bytes[i]) & 0xff];
  return ~crc;
}

uint32_t crc32c(const void* data, size_t size, uint32_t seed) {
#if defined(__x86_64__)
  static const bool has_instruction = __builtin_cpu_supports("sse4.2");
  if (has_instruction) return crc32c_sse42(data, size, seed);
#endif
  return crc32c_portable(data, size, seed);
}

}  // namespace deadheat::trace
