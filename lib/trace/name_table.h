// Dense numbers for the names in one name space of a text trace.
//
// Most names are a letter and a small number (T3, V1234): these index an array and are never stored
// as text. All others go through a TextInterner. The path depends only on the name's text, so each
// name has one number.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "lib/trace/interner.h"

namespace deadheat::trace {

// Characters that fast paths read at once: 8 bytes, first character lowest (little-endian).
inline uint64_t load_chars(const char* p) {
  uint64_t word;
  std::memcpy(&word, p, 8);
  return word;
}

// The position of the first `c` among the 8 characters; 8 if there is none.
inline unsigned find_char(uint64_t word, char c) {
  const uint64_t x = word ^ (0x0101010101010101ULL * static_cast<unsigned char>(c));
  const uint64_t found = (x - 0x0101010101010101ULL) & ~x & 0x8080808080808080ULL;
  return found == 0 ? 8 : static_cast<unsigned>(__builtin_ctzll(found)) / 8;
}

// The number spelled by the first `length` (1 to 8) characters of `word`, or kNoNumber if one is
// not a digit or the number has a leading zero ("007" is a different name from "7").
inline constexpr uint32_t kNoNumber = 0xffffffffU;
inline uint32_t parse_digits(uint64_t word, unsigned length) {
  const unsigned shift = 64 - 8 * length;
  const uint64_t padded =
      (word << shift) | (shift == 0 ? 0 : 0x3030303030303030ULL >> (64 - shift));
  const uint64_t digits = padded - 0x3030303030303030ULL;
  if ((((padded + 0x4646464646464646ULL) | digits) & 0x8080808080808080ULL) != 0) return kNoNumber;
  if ((word & 0xff) == '0' && length > 1) return kNoNumber;
  uint64_t value = digits * 10 + (digits >> 8);  // pairs
  value = (((value & 0x000000ff000000ffULL) * 0x000f424000000064ULL) +
           (((value >> 16) & 0x000000ff000000ffULL) * 0x0000271000000001ULL)) >>
          32;
  return static_cast<uint32_t>(value);
}

class NameTable {
 public:
  static constexpr uint32_t kMaxNumber =
      1 << 22;  // numbers below index an array: at most 16 MiB per letter
  static constexpr uint32_t kUnknown = 0;  // of find_numbered()

  // One more than the name's number, or kUnknown if it is new.
  uint32_t find_numbered(unsigned char letter, uint32_t value) const {
    const auto& table = by_number_[letter & 63];
    return value < table.size() ? table[value] : kUnknown;
  }
  static bool is_letter(unsigned char c) { return (c | 0x20U) - 'a' < 26U; }

  uint32_t intern(std::string_view name) {
    const uint32_t value = number_in(name);
    if (value != kNoNumber) {
      auto& table = by_number_[static_cast<unsigned char>(name[0]) & 63];
      if (value >= table.size()) table.resize(grown(value), kUnknown);
      if (table[value] == kUnknown) {
        origins_.push_back((static_cast<uint64_t>(static_cast<unsigned char>(name[0])) << 32) |
                           value);
        table[value] = static_cast<uint32_t>(origins_.size());
      }
      return table[value] - 1;
    }
    const uint32_t other = others_.intern(name);
    if (other == by_other_.size()) {
      by_other_.push_back(static_cast<uint32_t>(origins_.size()));
      origins_.push_back(other);
    }
    return by_other_[other];
  }

  std::string name(uint32_t number) const {
    if (number >= origins_.size()) return {};
    const uint64_t origin = origins_[number];
    if ((origin >> 32) == 0) return std::string(others_.text(static_cast<uint32_t>(origin)));
    std::string made(1, static_cast<char>(origin >> 32));
    made += std::to_string(static_cast<uint32_t>(origin));
    return made;
  }
  size_t size() const { return origins_.size(); }

 private:
  static size_t grown(uint32_t value) {
    size_t size = 1024;
    while (size <= value) size *= 2;
    return size;
  }
  // The number in a name that is a letter and a small number.
  static uint32_t number_in(std::string_view name) {
    if (name.size() < 2 || name.size() > 8 || !is_letter(static_cast<unsigned char>(name[0])))
      return kNoNumber;
    uint64_t word = 0;
    std::memcpy(&word, name.data() + 1, name.size() - 1);
    const uint32_t value = parse_digits(word, static_cast<unsigned>(name.size() - 1));
    return value < kMaxNumber ? value : kNoNumber;
  }

  std::vector<uint32_t> by_number_[64];  // [letter & 63][value]: number + 1
  TextInterner others_;
  std::vector<uint32_t> by_other_;
  std::vector<uint64_t> origins_;  // letter and value, or the number in others_
};

}  // namespace deadheat::trace
