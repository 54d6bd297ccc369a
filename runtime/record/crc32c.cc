#include "runtime/record/crc32c.h"

#include <cpuid.h>
#include <nmmintrin.h>
#include <string.h>

namespace deadheat::runtime {

namespace {

__attribute__((target("sse4.2"))) uint32_t by_instruction(const uint8_t* bytes, size_t size) {
  uint64_t crc = 0xffffffffU;
  for (; size >= 8; size -= 8, bytes += 8) {
    uint64_t word;
    memcpy(&word, bytes, 8);
    crc = _mm_crc32_u64(crc, word);
  }
  auto low = static_cast<uint32_t>(crc);
  for (; size > 0; --size, ++bytes) low = _mm_crc32_u8(low, *bytes);
  return ~low;
}

uint32_t by_bits(const uint8_t* bytes, size_t size) {
  uint32_t crc = 0xffffffffU;
  for (; size > 0; --size, ++bytes) {
    crc ^= *bytes;
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) != 0 ? 0x82f63b78U : 0U);
  }
  return ~crc;
}

bool has_instruction() {
  static int known;  // 0: unknown, 1: no, 2: yes
  if (known == 0) {
    unsigned a = 0, b = 0, c = 0, d = 0;
    known = __get_cpuid(1, &a, &b, &c, &d) != 0 && (c & bit_SSE4_2) != 0 ? 2 : 1;
  }
  return known == 2;
}

}  // namespace

uint32_t crc32c(const void* data, size_t size) {
  const auto* const bytes = static_cast<const uint8_t*>(data);
  return has_instruction() ? by_instruction(bytes, size) : by_bits(bytes, size);
}

}  // namespace deadheat::runtime
