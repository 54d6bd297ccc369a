// libc's own functions behind our names. All are looked up at the start, because dlsym may allocate
// and lock; an interceptor called earlier looks them up itself. The allocator is not among them:
// heap.cc calls it by glibc's internal names, so dlsym may allocate through us.
#include <dlfcn.h>

#include "runtime/common/intercept/interceptor.h"
#include "runtime/common/os.h"

extern "C" {
[[gnu::visibility("hidden")]] extern const deadheat::runtime::RealEntry __start_deadheat_real[];
[[gnu::visibility("hidden")]] extern const deadheat::runtime::RealEntry __stop_deadheat_real[];
}

namespace deadheat::runtime {

__thread Local local __attribute__((tls_model("initial-exec")));

namespace {

void resolve(const RealEntry& entry) {
  if (__atomic_load_n(entry.function, __ATOMIC_RELAXED) != nullptr) return;
  void* const found = entry.version == nullptr ? dlsym(RTLD_NEXT, entry.name)
                                               : dlvsym(RTLD_NEXT, entry.name, entry.version);
  __atomic_store_n(entry.function, found, __ATOMIC_RELAXED);
}

// By hand: strcmp may be one of those that are looked up.
bool is_free(const char* name) {
  return name[0] == 'f' && name[1] == 'r' && name[2] == 'e' && name[3] == 'e' && name[4] == 0;
}

}  // namespace

// dlsym frees its error message for a name that is not defined (its library is not loaded): where
// free() is intercepted like the others, as for production, the real one must be known by then.
void resolve_real() {
  for (const RealEntry* entry = __start_deadheat_real; entry != __stop_deadheat_real; ++entry)
    if (is_free(entry->name)) resolve(*entry);
  for (const RealEntry* entry = __start_deadheat_real; entry != __stop_deadheat_real; ++entry)
    resolve(*entry);
}

uint32_t own_kernel_id() {
  if (local.kernel_id == 0) local.kernel_id = kernel_thread_id();
  return local.kernel_id;
}

}  // namespace deadheat::runtime
