// The slow path of an access: compare with the cell's entries, report races, store.
#pragma once

#include "runtime/detect/shadow.h"
#include "runtime/detect/threads.h"

namespace deadheat::runtime {

struct AccessInfo {
  Address address;  // of the whole access
  size_t size;
  Address pc;
  Slot flags;  // kWriteBit, kAtomicBit
  bool freed = false;
};

// The bytes [address, address + size) of any length and alignment.
void check_access(Thread& self, const AccessInfo& access);
// The same for some of the 8 bytes of one granule.
void check_small(Thread& self, Address address, size_t size, Address pc, Slot flags);
// Whether the thread made such an access to all these bytes in its tick.
bool is_covered(const Thread& self, Address begin, size_t size, bool write);
// A part of the access, whose history is already written.
void check_bytes(Thread& self, Address begin, Address end, const AccessInfo& access);
// The same for a plain access of the calling thread, if it stores any, of up to 16 bytes. Without
// kMayBeCovered the caller has found that no entry covers it, unless it spans two granules.
template <unsigned kSize, bool kWrite, bool kMayBeCovered>
void check_plain(Address address, Address pc);
// The part in one granule (given by the address of a byte in it): `mask` of its bytes.
void check_cell(Thread& self, Cell& cell, Address granule, Slot mask, const AccessInfo& access);

// If nothing conflicts and no slot is free: common when eight threads read the same data.
void store_full(Thread& self, Cell& cell, Slot asked);

// Two threads in one cell within a few nanoseconds do not see each other (check.cc, store). Until a
// thread publishes its clock, no other can be ordered after its current tick: checking again then
// finds such a pair. Threads started together meet like that: without this check, one racy program
// was missed in some thousand runs.
void look_again(Thread& self);         // before a release: short ticks
void look_again_at_all(Thread& self);  // before the thread ends: as far as its history reaches

uint64_t evicted_accesses();     // entries that were evicted from a full cell
uint64_t unshadowed_accesses();  // no memory for their shadow

inline Slot granule_mask(Address address, size_t size) { return granule_bytes(address & 7, size); }

}  // namespace deadheat::runtime
