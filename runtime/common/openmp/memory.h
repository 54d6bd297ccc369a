// The model's own memory: from the arena, with signal handlers deferred, since they may allocate
// too.
#pragma once

#include "runtime/common/arena.h"
#include "runtime/common/intercept/signals.h"

namespace deadheat::runtime::openmp {

template <typename Work>
inline auto quietly(Work work) {
  if (self() == nullptr) return work();
  const Inside inside(self());
  return work();
}

template <typename T>
inline T* make() {
  return quietly([] { return arena_new<T>(); });
}

template <typename T>
inline void unmake(T* object) {
  quietly([=] { arena_free(object, sizeof(T)); });
}

}  // namespace deadheat::runtime::openmp
