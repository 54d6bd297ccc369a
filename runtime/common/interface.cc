// What programs may call from <sanitizer/tsan_interface.h>: annotations of their own locks, order,
// fibers and objects. interface_report.cc, interface_allocator.cc and interface_syscalls.cc hold
// what the other public headers declare, interface_unused.cc the part without a meaning here.
#include <limits.h>
#include <linux/futex.h>

#include "runtime/common/arena.h"
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

// Between the pre and post calls, the mutex's own code is ignored.
void look_away() {
  if (self() != nullptr) on_ignore_begin(self(), true, true, true);
}
void look_again() {
  if (self() != nullptr) on_ignore_end(self(), true, true, true);
}

// For a thread's own initial fiber, `thread` is that thread.
struct Fiber {
  deadheat::runtime::Thread* thread;  // null: the mode has no state of its own for it
};

__thread Fiber* current_fiber __attribute__((tls_model("initial-exec")));
__thread Fiber* first_fiber __attribute__((tls_model("initial-exec")));  // the thread itself

bool has_fibers() { return &deadheat::runtime::mode_fiber_switch != nullptr; }

Fiber* own_fiber() {
  if (current_fiber != nullptr) return current_fiber;
  current_fiber = deadheat::runtime::arena_new<Fiber>();
  if (current_fiber != nullptr) current_fiber->thread = self();
  return first_fiber = current_fiber;
}

}  // namespace

namespace deadheat::runtime {

void leave_fibers() {
  if (first_fiber == nullptr) return;
  if (current_fiber != first_fiber && has_fibers() && first_fiber->thread != nullptr &&
      self() != nullptr)
    mode_fiber_switch(self(), first_fiber->thread);
  arena_free(first_fiber, sizeof(Fiber));
  first_fiber = current_fiber = nullptr;
}

}  // namespace deadheat::runtime

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

// Objects of an uninstrumented library, which reports its callers' accesses to them.
EXPORTED void* __tsan_external_register_tag(const char* type) { return const_cast<char*>(type); }
EXPORTED void __tsan_external_register_header(void*, const char*) {}
EXPORTED void __tsan_external_assign_tag(void*, void*) {}
EXPORTED void __tsan_external_read(void* object, void* pc, void*) {
  if (self() != nullptr) on_range(self(), address_of(pc), address_of(object), 1, false);
}
EXPORTED void __tsan_external_write(void* object, void* pc, void*) {
  if (self() != nullptr) on_range(self(), address_of(pc), address_of(object), 1, true);
}

EXPORTED void* __tsan_get_current_fiber() { return own_fiber(); }
EXPORTED void* __tsan_create_fiber(unsigned) {
  auto* const fiber = deadheat::runtime::arena_new<Fiber>();
  if (fiber == nullptr || self() == nullptr) return fiber;
  if (has_fibers()) fiber->thread = on_thread_create(self(), CALLER);
  if (fiber->thread == nullptr) on_happens_before(self(), CALLER, address_of(fiber));
  return fiber;
}
EXPORTED void __tsan_destroy_fiber(void* fiber) {
  if (fiber == nullptr) return;
  deadheat::runtime::Thread* const thread = static_cast<Fiber*>(fiber)->thread;
  if (has_fibers() && thread != nullptr) deadheat::runtime::mode_fiber_end(thread);
  deadheat::runtime::arena_free(fiber, sizeof(Fiber));
}
// Called directly before the program switches stacks. By default, everything before the switch
// happens before what the other fiber does afterwards.
EXPORTED void __tsan_switch_to_fiber(void* to, unsigned flags) {
  constexpr unsigned kNoSync = 1;
  deadheat::runtime::local.fiber_announced = true;
  Fiber* const from = own_fiber();
  auto* const fiber = static_cast<Fiber*>(to);
  if (self() == nullptr || from == nullptr || fiber == from) return;
  const bool modelled = has_fibers() && fiber->thread != nullptr && from->thread != nullptr;
  if (!modelled) {
    on_happens_before(self(), CALLER, address_of(from));
    on_happens_after(self(), CALLER, address_of(fiber));
  } else {
    if ((flags & kNoSync) == 0) on_happens_before(self(), CALLER, address_of(fiber));
    deadheat::runtime::mode_fiber_switch(from->thread, fiber->thread);
    if ((flags & kNoSync) == 0) on_happens_after(self(), CALLER, address_of(fiber));
  }
  current_fiber = fiber;
}
EXPORTED void __tsan_set_fiber_name(void* fiber, const char* name) {
  if (fiber == nullptr || static_cast<Fiber*>(fiber)->thread == nullptr) return;
  on_thread_name(static_cast<Fiber*>(fiber)->thread, name);
}

EXPORTED void __tsan_ignore_thread_begin() {
  if (self() != nullptr) on_ignore_begin(self(), true, true, false);
}
EXPORTED void __tsan_ignore_thread_end() {
  if (self() != nullptr) on_ignore_end(self(), true, true, false);
}

// The barrier of ThreadSanitizer's own tests, which must not order anything. The low half counts
// arrivals; the high half is the number of threads.
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

EXPORTED unsigned long __tsan_testonly_shadow_stack_current_size() {
  return self() == nullptr ? 0 : deadheat::runtime::call_depth(self());
}
