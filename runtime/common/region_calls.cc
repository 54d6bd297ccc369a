// The calls that our plugins compile into a program (abi/regions.h): decides whether the callee
// is instrumented, and if not, opens a region in the mode.
//
// The caller caches the answer about a callee. It depends only on the address: functions that our
// pass registered, code of a module that is instrumented without tables, and libc and similar
// libraries, which the interceptors model, need no region.
#include "abi/regions.h"
#include "runtime/common/intercept/interceptor.h"

using deadheat::runtime::Address;
using deadheat::runtime::address_of;
using deadheat::runtime::self;
using deadheat::runtime::Thread;

namespace {

bool needs_no_region(Address function) {
  if (deadheat::runtime::is_instrumented_function(function)) return true;
  const deadheat::runtime::Module* const module = deadheat::runtime::find_module(function);
  return module != nullptr && (module->known || module->ours);
}

int enter(Thread* thread, Address pc, Address function, const void* const* arguments,
          unsigned count) {
  on_region_begin(thread, pc, function, reinterpret_cast<const Address*>(arguments), count);
  return 1;
}

// Inside an interceptor that hides its callees nothing is tracked, including regions.
bool looking(Thread* thread) {
  return thread != nullptr && deadheat::runtime::common(thread).inside == 0;
}

}  // namespace

namespace deadheat::runtime {
[[gnu::weak]] bool mode_check_loop(Address, int64_t, uint64_t, size_t, bool, Address) {
  return false;
}
}  // namespace deadheat::runtime

EXPORTED int __deadheat_loop(const void* begin, long stride, unsigned long count,
                             unsigned long kind) {
  return deadheat::runtime::mode_check_loop(address_of(begin), stride, count, kind & 0xff,
                                            (kind & DEADHEAT_LOOP_WRITES) != 0, CALLER)
             ? 1
             : 0;
}

EXPORTED int __deadheat_region_begin(const void* callee, unsigned char* state,
                                     const void* const* arguments, unsigned count) {
  Thread* const thread = self();
  if (!looking(thread)) return 0;
  const Address function = deadheat::runtime::resolve_plt(address_of(callee));
  if (__atomic_load_n(state, __ATOMIC_RELAXED) == DEADHEAT_CALLEE_UNKNOWN) {
    const bool known = needs_no_region(function);
    __atomic_store_n(state, known ? DEADHEAT_CALLEE_KNOWN : DEADHEAT_CALLEE_OUTSIDE,
                     __ATOMIC_RELAXED);
    if (known) return 0;
  }
  return enter(thread, CALLER, function, arguments, count);
}

EXPORTED int __deadheat_region_begin_indirect(const void* callee, const void** known,
                                              const void* const* arguments, unsigned count) {
  Thread* const thread = self();
  if (!looking(thread)) return 0;
  const Address function = deadheat::runtime::resolve_plt(address_of(callee));
  if (needs_no_region(function)) {
    __atomic_store_n(known, callee, __ATOMIC_RELAXED);
    return 0;
  }
  return enter(thread, CALLER, function, arguments, count);
}

EXPORTED void __deadheat_region_end(const void* result) {
  Thread* const thread = self();
  if (thread == nullptr) return;
  const Address address = address_of(result);
  on_region_end(thread, CALLER, &address, result != nullptr ? 1 : 0);
}

EXPORTED void __deadheat_register_functions(const void* const* begin, const void* const* end) {
  deadheat::runtime::module_add_functions(begin, end);
}
