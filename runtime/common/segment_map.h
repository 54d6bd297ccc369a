// Maps an address to the piece of a side table that describes it: a first level indexed by `address
// >> 32`, and a second level that is mapped whole (but not reserved) when its four gigabytes are
// first touched. Works wherever the kernel places memory, at any ASLR setting; nothing is mapped at
// a fixed address.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "runtime/common/mode.h"
#include "runtime/common/os.h"

namespace deadheat::runtime {

inline constexpr unsigned kSegmentShift = 32;
inline constexpr size_t kSegments = size_t{1} << (47 - kSegmentShift);

// User addresses only: the program would fault at any other.
inline size_t segment_of(Address address) { return address >> kSegmentShift; }

template <size_t kBytesPerSegment>
class SegmentMap {
 public:
  // Null if nothing there was ever touched.
  char* find(Address address) const {
    return __atomic_load_n(&segments_[segment_of(address)], __ATOMIC_RELAXED);
  }
  // Null if this is not a user address, or the kernel has no memory (ulimit -v).
  char* touch(Address address) {
    if (address >> 47 != 0) return nullptr;
    char* const found = find(address);
    return found != nullptr ? found : add(address);
  }

 private:
  __attribute__((noinline)) char* add(Address address) {
    char* const fresh = static_cast<char*>(map_memory(kBytesPerSegment));
    if (fresh == nullptr) return nullptr;
    char* expected = nullptr;
    char*& place = segments_[segment_of(address)];
    if (__atomic_compare_exchange_n(&place, &expected, fresh, false, __ATOMIC_ACQ_REL,
                                    __ATOMIC_ACQUIRE))
      return fresh;
    unmap_memory(fresh, kBytesPerSegment);
    return expected;
  }

  char* segments_[kSegments];  // static storage: zero
};

// One bit per 2^kShift bytes.
template <unsigned kShift>
class AddressBits {
 public:
  bool test(Address address) const {
    const uint64_t* const word = find(address);
    return word != nullptr && (__atomic_load_n(word, __ATOMIC_RELAXED) >> bit(address) & 1) != 0;
  }
  void set(Address address) {
    char* const base = map_.touch(address);
    if (base == nullptr) return;
    __atomic_fetch_or(word_at(base, address), uint64_t{1} << bit(address), __ATOMIC_RELAXED);
  }
  void clear(Address address) {
    char* const base = map_.find(address);
    if (base == nullptr) return;
    __atomic_fetch_and(word_at(base, address), ~(uint64_t{1} << bit(address)), __ATOMIC_RELAXED);
  }
  // The word that contains the bit, or null.
  const uint64_t* find(Address address) const {
    char* const base = map_.find(address);
    return base == nullptr ? nullptr : word_at(base, address);
  }
  static unsigned bit(Address address) { return (address >> kShift) & 63; }
  static constexpr size_t kBytesPerWord = size_t{64} << kShift;

 private:
  static uint64_t* word_at(char* base, Address address) {
    const Address inside = address & ((Address{1} << kSegmentShift) - 1);
    return reinterpret_cast<uint64_t*>(base) + (inside >> (kShift + 6));
  }
  SegmentMap<(size_t{1} << kSegmentShift) / 8 / (size_t{1} << kShift)> map_;
};

}  // namespace deadheat::runtime
