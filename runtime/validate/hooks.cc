// What the compiled program calls: the plugin's hooks (abi/validate_page.h), and those of
// ThreadSanitizer for objects built for detection that run here: of these, the synchronisation
// counts, and the calls that represent sites (hooked_sites.h).
#include "runtime/common/atomics.h"
#include "runtime/common/intercept/interceptor.h"
#include "runtime/common/intercept/signals.h"
#include "runtime/common/intercept/start.h"
#include "runtime/validate/hooked_sites.h"
#include "runtime/validate/infer.h"
#include "runtime/validate/jobs.h"
#include "runtime/validate/order.h"
#include "runtime/validate/page.h"

namespace deadheat::runtime {

REAL_FUNCTION(size_t, malloc_usable_size, (void* block))

namespace {

bool acquires(MemoryOrder order) {
  return order == MemoryOrder::kAcquire || order == MemoryOrder::kAcqRel ||
         order == MemoryOrder::kSeqCst || order == MemoryOrder::kConsume;
}
bool releases(MemoryOrder order) {
  return order == MemoryOrder::kRelease || order == MemoryOrder::kAcqRel ||
         order == MemoryOrder::kSeqCst;
}

Thread* looking() {
  Thread* const thread = self();
  if (thread == nullptr || thread->common.inside != 0 || thread->common.critical != 0 ||
      thread->ignore_sync != 0)
    return nullptr;
  return thread;
}

void before_atomic(Thread& thread, Address address, MemoryOrder order) {
  const Inside inside(&thread);
  if (releases(order)) {
    release_atomic(thread, address);
  } else {
    release_relaxed(thread, address);
  }
}

void after_atomic(Thread& thread, Address address, MemoryOrder order) {
  const Inside inside(&thread);
  if (acquires(order)) {
    acquire_atomic(thread, address);
  } else {
    acquire_relaxed(thread, address);
  }
}

// Whether the other side waits for this access to be made.
[[gnu::noinline]] int look_at_access(unsigned site, const void* address, uint64_t what) {
  Thread* const thread = looking();
  if (thread == nullptr || thread->waits || page() == nullptr || site >= site_count()) return 0;
  const uint8_t state = __atomic_load_n(&states()[site], __ATOMIC_RELAXED);
  size_t size = what >> DHV_ACCESS_SIZE_SHIFT;
  if ((what & DHV_ACCESS_FREE) != 0)
    size = address == nullptr ? 0 : REAL(malloc_usable_size)(const_cast<void*>(address));
  if (size == 0) return 0;
  const Address begin = address_of(address);
  if (state != 0) infer(*thread, site, begin, size);
  if ((state & DHV_STATE_JOB) == 0) return 0;
  job_access(
      *thread, site,
      {begin, begin + size, (what & DHV_ACCESS_WRITE) != 0, (what & DHV_ACCESS_ATOMIC) != 0});
  return thread->wakes != 0 ? 1 : 0;
}

// --- Hooks of detection. The access follows its hook, and nothing reports its completion: the
// thread's next hook does, at the latest that of the function's end.

inline void access_was_made() {
  Thread* const thread = tls_self;
  if (thread != nullptr && __builtin_expect(thread->wakes != 0, 0)) job_access_made(*thread);
}

inline void hooked_access(Address address, uint64_t size, uint32_t kind, Address pc) {
  const Thread* const thread = tls_self;
  if (hooked.slots == nullptr || thread == nullptr || page() == nullptr) return;
  access_was_made();
  for_each_hooked(pc, [=](uint32_t site) {
    const uint8_t state = __atomic_load_n(&places.states[site], __ATOMIC_RELAXED);
    if (state == 0 || (state == DHV_STATE_INFER && is_known(*thread, site, address))) return;
    look_at_access(site, reinterpret_cast<const void*>(address),
                   size << DHV_ACCESS_SIZE_SHIFT | kind);
  });
}

template <unsigned kSize, bool kWrite>
void hook_access(Address address, Address pc) {
  hooked_access(address, kSize, kWrite ? DHV_ACCESS_WRITE : 0, pc);
}
template <unsigned kSize, bool kWrite>
void hook_unaligned(Address address, Address pc) {
  hooked_access(address, kSize, kWrite ? DHV_ACCESS_WRITE : 0, pc);
}
void hook_range(Address address, size_t size, bool write, Address pc) {
  hooked_access(address, size, write ? DHV_ACCESS_WRITE : 0, pc);
}
void hook_entry(Address) {}
void hook_exit() { access_was_made(); }

template <typename T, typename Op>
T hook_atomic(AtomicKind kind, volatile T* place, MemoryOrder order, Address pc, Op op) {
  hooked_access(
      address_of(place), sizeof(T),
      kind == AtomicKind::kLoad ? DHV_ACCESS_ATOMIC : DHV_ACCESS_ATOMIC | DHV_ACCESS_WRITE, pc);
  Thread* const thread = is_tracking() ? looking() : nullptr;
  if (thread != nullptr && kind != AtomicKind::kLoad)
    before_atomic(*thread, address_of(place), order);
  const T result = op();
  access_was_made();
  Thread* const reader = kind != AtomicKind::kStore && is_tracking() ? looking() : nullptr;
  if (reader != nullptr) after_atomic(*reader, address_of(place), order);
  return result;
}

template <typename T>
bool hook_compare_exchange(volatile T* place, T* expected, T desired, MemoryOrder success,
                           MemoryOrder failure, Address pc) {
  return hook_atomic<T>(AtomicKind::kReadModifyWrite, place,
                        acquires(failure) && !acquires(success) ? MemoryOrder::kAcqRel : success,
                        pc, [=]() -> T {
                          return static_cast<T>(real_compare_exchange(place, expected, desired));
                        }) != 0;
}

}  // namespace

void on_function_entry(Thread*, Address) {}
void on_function_exit(Thread*) {}

void on_fence(Thread* thread, Address, MemoryOrder order) {
  if (is_tracking() && thread->ignore_sync == 0) fence(*thread, acquires(order), releases(order));
}

}  // namespace deadheat::runtime

using deadheat::runtime::Address;
using deadheat::runtime::address_of;
using deadheat::runtime::order_of;
using deadheat::runtime::Thread;

EXPORTED void __deadheat_validate_register(const dhv_list* list, unsigned char* states) {
  deadheat::runtime::start_runtime();
  deadheat::runtime::module_called_init(CALLER);
  deadheat::runtime::register_list(list, states);
}

// A known access of a site without a job ends after a few instructions and without a stack frame. A
// nonzero state belongs to the page: the records exist, and the site is one of them.
EXPORTED int __deadheat_validate_before(unsigned site, const void* address, uint64_t what) {
  const Thread* const thread = deadheat::runtime::self();
  if (thread == nullptr) return 0;
  if (deadheat::runtime::places.states[site] == DHV_STATE_INFER &&
      deadheat::runtime::is_known(*thread, site, address_of(address)))
    return 0;
  return deadheat::runtime::look_at_access(site, address, what);
}

EXPORTED void __deadheat_validate_after(unsigned) {
  Thread* const thread = deadheat::runtime::self();
  if (thread != nullptr && thread->wakes != 0) deadheat::runtime::job_access_made(*thread);
}

EXPORTED void __deadheat_validate_release(const void* address, unsigned order, unsigned) {
  if (!deadheat::runtime::is_tracking()) return;
  if (Thread* const thread = deadheat::runtime::looking())
    deadheat::runtime::before_atomic(*thread, address_of(address),
                                     order_of(static_cast<int>(order)));
}

EXPORTED void __deadheat_validate_acquire(const void* address, unsigned order, unsigned) {
  if (!deadheat::runtime::is_tracking()) return;
  if (Thread* const thread = deadheat::runtime::looking())
    deadheat::runtime::after_atomic(*thread, address_of(address),
                                    order_of(static_cast<int>(order)));
}

EXPORTED void __deadheat_validate_fence(unsigned order) {
  if (!deadheat::runtime::is_tracking()) return;
  if (Thread* const thread = deadheat::runtime::looking())
    deadheat::runtime::on_fence(thread, 0, order_of(static_cast<int>(order)));
}

EXPORTED void __deadheat_validate_unseen() {
  if (!deadheat::runtime::is_tracking()) return;
  Thread* const thread = deadheat::runtime::looking();
  if (thread == nullptr) return;
  const deadheat::runtime::Inside inside(thread);
  deadheat::runtime::unseen_code(*thread);
}

#include "runtime/common/abi_accesses.inc"
#include "runtime/common/abi_atomics.inc"
