// Clearing and copying without libc's functions, which we intercept.
#pragma once

#include <stddef.h>
#include <stdint.h>

namespace deadheat::runtime {

// Size and address must be multiples of 8.
inline void zero_words(void* begin, size_t size) {
  size_t words = size / 8;
  asm volatile("rep stosq" : "+D"(begin), "+c"(words) : "a"(0) : "memory");
}

// For short blocks, where starting a string instruction costs more than the stores.
inline void zero_cells(void* begin, size_t size) {
  if (size > 512) return zero_words(begin, size);
  typedef long long Pair __attribute__((vector_size(16), aligned(16), may_alias));
  auto* at = static_cast<Pair*>(begin);
  for (size_t i = 0; i < size / 16; ++i) {
    at[i] = Pair{0, 0};
    asm volatile("" : : : "memory");  // otherwise the compiler turns the loop into a memset call
  }
}

}  // namespace deadheat::runtime
