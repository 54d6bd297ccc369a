// The real atomic operations behind the hooks. Sequentially consistent: never weaker than the
// program requested. 16-byte ones use cmpxchg16b (-mcx16).
#pragma once

#include "abi/regions.h"
#include "runtime/common/mode.h"

namespace deadheat::runtime {

inline MemoryOrder order_of(int order) {
  const int known = order & 0xffff;  // the upper half holds hints (lock elision)
  return known >= 0 && known <= 5 ? static_cast<MemoryOrder>(known + 1) : MemoryOrder::kSeqCst;
}

// The order of a store. The pass marks the relaxed stores of C++20. A store from any other compiler
// is assumed to continue the release sequences of its own thread, as C and older C++ define it:
// that can hide a race but never invent one.
inline MemoryOrder order_of_store(int order) {
  const MemoryOrder plain = order_of(order);
  const bool marked = (order & DEADHEAT_ORDER_CXX20) != 0;
  return marked && plain == MemoryOrder::kRelaxed ? MemoryOrder::kRelaxed20 : plain;
}

template <typename T>
T real_load(const volatile T* address) {
  if constexpr (sizeof(T) == 16) {
    return __sync_val_compare_and_swap(const_cast<volatile T*>(address), T{0}, T{0});
  } else {
    return __atomic_load_n(address, __ATOMIC_SEQ_CST);
  }
}

template <typename T>
bool real_compare_exchange(volatile T* address, T* expected, T desired) {
  if constexpr (sizeof(T) == 16) {
    const T found = __sync_val_compare_and_swap(address, *expected, desired);
    const bool done = found == *expected;
    *expected = found;
    return done;
  } else {
    return __atomic_compare_exchange_n(address, expected, desired, false, __ATOMIC_SEQ_CST,
                                       __ATOMIC_SEQ_CST);
  }
}

// `change` computes the new value from the old one. Returns the old one.
template <typename T, typename Change>
T real_update(volatile T* address, Change change) {
  T old = real_load(address);
  while (!real_compare_exchange(address, &old, change(old))) {
  }
  return old;
}

}  // namespace deadheat::runtime
