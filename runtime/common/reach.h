// What a call into uninstrumented code can reach: RDIT's set of reachable addresses, as objects.
//
// A conservative scan: every word of a reached object that looks like a pointer into a heap block,
// a global variable or a thread's stack is followed. Memory is read through the kernel
// (process_vm_readv), many objects at a time, since another thread may unmap a block meanwhile. The
// end of a variable on a stack is unknown, except for those of the calling frame (abi/regions.h):
// the object is then its page, and the scan covers a kilobyte from the pointer on. When a bound is
// hit, the region reaches everything.
#pragma once

#include "runtime/common/globals.h"

namespace deadheat::runtime {

struct ReachedObject {
  Address key = 0;   // equal keys: the same object
  Address from = 0;  // start of the bytes scanned for pointers
  Address to = 0;
};

struct ReachedSet {
  ReachedObject* objects = nullptr;  // each `from` once
  uint32_t count = 0;
  uint32_t capacity = 0;
  uint32_t* index = nullptr;  // open addressing over objects, number + 1
  uint32_t index_mask = 0;
  bool everything = false;
};

// The end of the stack that contains the address, or 0. Defined by the mode.
Address thread_stack_end(Address address);

// Adds what is reachable from the values, up to `limit` objects.
void reach_from(ReachedSet& set, const Address* values, size_t count, uint32_t limit);
// Scans all objects of the set again.
void reach_again(ReachedSet& set, uint32_t limit);
// Adds what the words of [begin, end), the calling thread's own stack, point to.
void reach_from_stack(ReachedSet& set, Address begin, Address end, uint32_t limit);
// The key of the object that contains the address, or 0.
Address reach_key(Address address);
// Adds the globals that a function can name (code_reach.h), or, if that is unknown, one object for
// all writable data of its module; and what is reachable from them.
void reach_code(ReachedSet& set, Address function, uint32_t limit);
void reach_clear(ReachedSet& set);
void reach_free(ReachedSet& set);

}  // namespace deadheat::runtime
