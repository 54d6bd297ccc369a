// What <sanitizer/tsan_interface.h> lets a program call, and the few of the common sanitizer
// functions that make sense here.
//
// Fibers are not modelled: a switch orders what the fiber did before with what it does from
// now on, and all fibers of a thread are ordered by being in it. That hides races between them.
#include <limits.h>
#include <linux/futex.h>

#include "runtime/common/arena.h"
#include "runtime/common/heap.h"
#include "runtime/common/intercept/interceptor.h"
#include "runtime/common/os.h"

using deadheat::runtime::Address;
using deadheat::runtime::address_of;
using deadheat::runtime::self;

namespace {

enum MutexFlag : unsigned {
  kLinkerInit = 1 << 0,
  kReadLock = 1 << 3,
  kTryLockFailed = 1 << 5,
  kRecursiveLock = 1 << 6,
};

// Between the pre and post calls the mutex's own code is not looked at.
void look_away() {
  if (self() != nullptr) on_ignore_begin(self(), true, true, true);
}
void look_again() {
  if (self() != nullptr) on_ignore_end(self(), true, true, true);
}

struct Fiber {
  char name;
};

__thread Fiber* current_fiber __attribute__((tls_model("initial-exec")));

}  // namespace

EXPORTED void __tsan_acquire(void* object) {
  if (self() != nullptr) on_happens_after(self(), CALLER, address_of(object));
}
EXPORTED void __tsan_release(void* object) {
  if (self() != nullptr) on_happens_before(self(), CALLER, address_of(object));
}

EXPORTED void __tsan_mutex_create(void* mutex, unsigned flags) {
  if ((flags & kLinkerInit) == 0) deadheat::runtime::was_written(self(), CALLER, mutex, 1);
}
EXPORTED void __tsan_mutex_destroy(void* mutex, unsigned) {
  if (self() == nullptr) return;
  deadheat::runtime::was_written(self(), CALLER, mutex, 1);
  on_lock_destroy(self(), CALLER, address_of(mutex));
}
EXPORTED void __tsan_mutex_pre_lock(void*, unsigned) { look_away(); }
EXPORTED void __tsan_mutex_post_lock(void* mutex, unsigned flags, int recursion) {
  look_again();
  if (self() == nullptr || (flags & kTryLockFailed) != 0) return;
  const int times = (flags & kRecursiveLock) != 0 && recursion > 1 ? recursion : 1;
  for (int i = 0; i < times; ++i)
    on_lock(self(), CALLER, address_of(mutex), (flags & kReadLock) != 0);
}
EXPORTED int __tsan_mutex_pre_unlock(void* mutex, unsigned flags) {
  if (self() != nullptr) on_unlock(self(), CALLER, address_of(mutex), (flags & kReadLock) != 0);
  look_away();
  return 1;
}
EXPORTED void __tsan_mutex_post_unlock(void*, unsigned) { look_again(); }
EXPORTED void __tsan_mutex_pre_signal(void*, unsigned) { look_away(); }
EXPORTED void __tsan_mutex_post_signal(void*, unsigned) { look_again(); }
EXPORTED void __tsan_mutex_pre_divert(void*, unsigned) { look_again(); }
EXPORTED void __tsan_mutex_post_divert(void*, unsigned) { look_away(); }
EXPORTED void __tsan_check_no_mutexes_held() {}

// Objects of a library that is not instrumented; the library says what its callers do to them.
EXPORTED void* __tsan_external_register_tag(const char* type) { return const_cast<char*>(type); }
EXPORTED void __tsan_external_register_header(void*, const char*) {}
EXPORTED void __tsan_external_assign_tag(void*, void*) {}
EXPORTED void __tsan_external_read(void* object, void* pc, void*) {
  if (self() != nullptr) on_range(self(), address_of(pc), address_of(object), 1, false);
}
EXPORTED void __tsan_external_write(void* object, void* pc, void*) {
  if (self() != nullptr) on_range(self(), address_of(pc), address_of(object), 1, true);
}

EXPORTED void* __tsan_get_current_fiber() {
  if (current_fiber == nullptr) current_fiber = deadheat::runtime::arena_new<Fiber>();
  return current_fiber;
}
EXPORTED void* __tsan_create_fiber(unsigned) {
  auto* const fiber = deadheat::runtime::arena_new<Fiber>();
  if (fiber != nullptr && self() != nullptr) on_happens_before(self(), CALLER, address_of(fiber));
  return fiber;
}
EXPORTED void __tsan_destroy_fiber(void* fiber) {
  if (fiber != nullptr) deadheat::runtime::arena_free(fiber, sizeof(Fiber));
}
EXPORTED void __tsan_switch_to_fiber(void* fiber, unsigned) {
  if (self() != nullptr) {
    on_happens_before(self(), CALLER, address_of(__tsan_get_current_fiber()));
    on_happens_after(self(), CALLER, address_of(fiber));
  }
  current_fiber = static_cast<Fiber*>(fiber);
}
EXPORTED void __tsan_set_fiber_name(void*, const char*) {}

EXPORTED void __tsan_ignore_thread_begin() {
  if (self() != nullptr) on_ignore_begin(self(), true, true, false);
}
EXPORTED void __tsan_ignore_thread_end() {
  if (self() != nullptr) on_ignore_end(self(), true, true, false);
}
EXPORTED void __tsan_flush_memory() {}

// The barrier of ThreadSanitizer's own tests, which must not order anything. The low half counts
// arrivals, the high half is the number of threads.
EXPORTED void __tsan_testonly_barrier_init(uint64_t* barrier, uint32_t threads) {
  *barrier = uint64_t{threads} << 32;
}
EXPORTED void __tsan_testonly_barrier_wait(uint64_t* barrier) {
  auto* const arrived = reinterpret_cast<uint32_t*>(barrier);
  const auto threads = static_cast<uint32_t>(*barrier >> 32);
  uint32_t now = __atomic_add_fetch(arrived, 1, __ATOMIC_ACQ_REL);
  const uint32_t phase = (now - 1) / threads;
  if (now % threads == 0) {
    deadheat::runtime::system_call(SYS_futex, reinterpret_cast<long>(arrived), FUTEX_WAKE, INT_MAX);
    return;
  }
  while (now / threads == phase) {
    deadheat::runtime::system_call(SYS_futex, reinterpret_cast<long>(arrived), FUTEX_WAIT, now);
    now = __atomic_load_n(arrived, __ATOMIC_ACQUIRE);
  }
}

namespace deadheat::runtime {
[[gnu::weak]] size_t call_depth(const Thread*) { return 0; }
}  // namespace deadheat::runtime

EXPORTED unsigned long __tsan_testonly_shadow_stack_current_size() {
  return self() == nullptr ? 0 : deadheat::runtime::call_depth(self());
}

EXPORTED int __sanitizer_get_ownership(const volatile void* block) {
  return deadheat::runtime::heap_owns(const_cast<const void*>(block)) ? 1 : 0;
}
EXPORTED size_t __sanitizer_get_allocated_size(const volatile void* block) {
  auto* const start = const_cast<void*>(block);
  return deadheat::runtime::heap_owns(start) ? deadheat::runtime::heap_size(start) : 0;
}
EXPORTED const void* __sanitizer_get_allocated_begin(const void* address) {
  deadheat::runtime::Block block;
  return deadheat::runtime::heap_find(address_of(address), &block)
             ? reinterpret_cast<const void*>(block.begin)
             : nullptr;
}
