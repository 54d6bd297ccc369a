// The shadow: the last accesses to each 8 bytes of memory ("granule").
//
// A cell has four slots of 32 bits: {byte mask 8, atomic 1, write 1, epoch id 22}; 0 is empty. Any
// slot may hold any access; the hooks compare all four at once. A cell is read at once and a slot
// written without a lock. A thread that was stopped in between checks again (stops.h); two threads
// there at the same moment can miss each other, and so a race. Every entry is an access that
// happened, so none is invented.
//
// The shadow of four gigabytes is mapped when they are first touched.
#pragma once

#include <stdint.h>

#include "runtime/common/check_words.h"
#include "runtime/common/mode.h"
#include "runtime/common/segment_map.h"

namespace deadheat::runtime {

using Slot = uint32_t;

inline constexpr Slot kMaskBits = 0xff;
inline constexpr Slot kAtomicBit = 0x100;
inline constexpr Slot kWriteBit = 0x200;
inline constexpr unsigned kIdShift = 10;
inline constexpr Slot kIdBits = ~Slot{0} << kIdShift;

static_assert((kIdBits | kAtomicBit) == DEADHEAT_CHECK_KIND_BITS &&
              kWriteBit == DEADHEAT_CHECK_WRITE_BIT && kSegmentShift == 32);

inline constexpr unsigned kCellSlots = 4;
struct alignas(16) Cell {
  Slot slots[kCellSlots];
};

inline constexpr size_t kShadowScale = sizeof(Cell) / 8;  // bytes of shadow for a byte of memory

// Like segment_map.h, except that an untouched segment points to memory that reads as zero:
// the hooks need no check, since an empty cell covers nothing, and the slow path maps the real
// one.
extern char* shadow_segments[kSegments];
extern char* no_shadow;

bool start_shadow();  // false: no memory
char* add_shadow(Address address);

inline Cell* cell_in(char* segment, Address address) {
  const Address inside = static_cast<uint32_t>(address) & ~uint32_t{7};
  return reinterpret_cast<Cell*>(segment + inside * kShadowScale);
}
// The segment's shadow, or no_shadow.
inline char* peek_shadow(Address address) {
  return __atomic_load_n(&shadow_segments[segment_of(address)], __ATOMIC_RELAXED);
}
// Read-only.
inline const Cell* peek_cell(Address address) { return cell_in(peek_shadow(address), address); }
// The segment's shadow, or null if never touched.
inline char* find_shadow(Address address) {
  char* const segment = __atomic_load_n(&shadow_segments[segment_of(address)], __ATOMIC_RELAXED);
  return segment == no_shadow ? nullptr : segment;
}
// Null without memory (ulimit -v).
inline char* touch_shadow(Address address) {
  char* const segment = find_shadow(address);
  return __builtin_expect(segment != nullptr, 1) ? segment : add_shadow(address);
}

// The cell of an address is so much from its segment's begin, doubled.
inline constexpr uint64_t kCellAddressBits = ((uint64_t{1} << kSegmentShift) - 1) & ~uint64_t{7};

inline Slot load_slot(const Slot& slot) { return __atomic_load_n(&slot, __ATOMIC_RELAXED); }
inline void store_slot(Slot& slot, Slot value) { __atomic_store_n(&slot, value, __ATOMIC_RELAXED); }

// The bits of `size` bytes from byte `first` on, as far as they are in the granule.
constexpr Slot granule_bytes(unsigned first, size_t size) {
  return (size >= 8 ? kMaskBits : (Slot{1} << size) - 1) << first & kMaskBits;
}

// Forgets all accesses.
void clear_shadow();
extern uint32_t forgotten_for_all;  // how often
// Forgets the accesses to these bytes (whole granules that they touch).
void clear_shadow(Address begin, size_t size);
// Clears the shadow if the process exceeds its memory limit. Cheap; call it often.
void keep_memory_limit();
uint64_t memory_limit_clears();
uint64_t unmarked_frees();  // memory.cc: freed blocks of which only the start was marked

}  // namespace deadheat::runtime
