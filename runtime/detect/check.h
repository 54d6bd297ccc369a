// The slow way of an access: compare with what the cell holds, report races, store.
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
// Whether the thread did as much to all these bytes in its tick.
bool is_covered(const Thread& self, Address begin, size_t size, bool write);
// A part of the access, whose history is written already.
void check_bytes(Thread& self, Address begin, Address end, const AccessInfo& access);
// The same for a plain access of the calling thread, if it stores any, of up to 16 bytes.
template <unsigned kSize, bool kWrite>
void check_plain(Address address, Address pc);
// As far as one granule goes (the address of a byte in it): `mask` of its bytes.
void check_cell(Thread& self, Cell& cell, Address granule, Slot mask, const AccessInfo& access);

// Where nothing conflicts and no place is free: eight threads that read the same come here often.
void store_full(Thread& self, Cell& cell, Slot asked);

// Two threads in one cell within the same few nanoseconds do not see each other (check.cc, store).
// Until a thread publishes its clock nobody can be ordered after what it did in its current tick:
// looked at once more then, such a pair is found. Threads that are started together meet like that:
// without it, one racy program in some thousand runs of them was missed.
void look_again(Thread& self);         // before a release: short ticks
void look_again_at_all(Thread& self);  // before the thread ends: as far as its history goes

uint64_t evicted_accesses();     // entries that were pushed out of a full cell
uint64_t unshadowed_accesses();  // no memory for their shadow

inline Slot granule_mask(Address address, size_t size) { return granule_bytes(address & 7, size); }

}  // namespace deadheat::runtime
