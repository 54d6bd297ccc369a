// Locksets as sorted arrays of marked locks. Freestanding, like vector_clock.h.
//
// A marked lock is (lock << 1)
// exclusive. Two accesses are protected from each other if some lock is in both sets and at least
// one of them holds it exclusively: two readers of a read-write lock may run at the same time.
#pragma once

#include <stddef.h>
#include <stdint.h>

namespace deadheat::order {

using MarkedLock = uint64_t;

inline MarkedLock mark(uint64_t lock, bool exclusive) {
  return (lock << 1) | (exclusive ? 1U : 0U);
}
inline uint64_t lock_of(MarkedLock marked) { return marked >> 1; }
inline bool is_exclusive(MarkedLock marked) { return (marked & 1) != 0; }

// Both sorted, each lock at most once.
inline bool protects(const MarkedLock* a, size_t a_size, const MarkedLock* b, size_t b_size) {
  size_t i = 0, j = 0;
  while (i < a_size && j < b_size) {
    if (lock_of(a[i]) < lock_of(b[j])) {
      ++i;
    } else if (lock_of(b[j]) < lock_of(a[i])) {
      ++j;
    } else if (is_exclusive(a[i]) || is_exclusive(b[j])) {
      return true;
    } else {
      ++i, ++j;
    }
  }
  return false;
}

// The intersection of both sets: a lock is exclusive in the result only if both hold it
// exclusively. Returns its size.
inline size_t intersect(const MarkedLock* a, size_t a_size, const MarkedLock* b, size_t b_size,
                        MarkedLock* out) {
  size_t i = 0, j = 0, n = 0;
  while (i < a_size && j < b_size) {
    if (lock_of(a[i]) < lock_of(b[j])) {
      ++i;
    } else if (lock_of(b[j]) < lock_of(a[i])) {
      ++j;
    } else {
      out[n++] = mark(lock_of(a[i]), is_exclusive(a[i]) && is_exclusive(b[j]));
      ++i, ++j;
    }
  }
  return n;
}

}  // namespace deadheat::order
