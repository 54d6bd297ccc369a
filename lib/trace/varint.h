// Variable-length integers of the container: seven bits a byte, least significant first; signed
// ones zigzag.
#pragma once

#include <cstdint>
#include <cstring>
#include <vector>

namespace deadheat::trace {

inline constexpr size_t kMaxVarint = 10;

inline uint64_t zigzag(int64_t value) {
  return (static_cast<uint64_t>(value) << 1) ^ static_cast<uint64_t>(value >> 63);
}
inline int64_t unzigzag(uint64_t value) {
  return static_cast<int64_t>((value >> 1) ^ (0 - (value & 1)));
}

inline void put_varint(std::vector<uint8_t>& out, uint64_t value) {
  while (value >= 0x80) {
    out.push_back(static_cast<uint8_t>(value | 0x80));
    value >>= 7;
  }
  out.push_back(static_cast<uint8_t>(value));
}

// Returns the byte after the varint at `p`, or nullptr if it does not end before `end` or within
// ten bytes.
inline const uint8_t* get_varint(const uint8_t* p, const uint8_t* end, uint64_t& value) {
  if (p < end && *p < 0x80) {
    value = *p;
    return p + 1;
  }
  value = 0;
  for (unsigned shift = 0; shift < 70 && p < end; shift += 7) {
    const uint8_t byte = *p++;
    value |= static_cast<uint64_t>(byte & 0x7f) << (shift > 63 ? 63 : shift);
    if (byte < 0x80) return p;
  }
  return nullptr;
}

}  // namespace deadheat::trace
