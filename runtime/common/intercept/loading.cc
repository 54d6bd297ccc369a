// dlclose. dlopen is not intercepted: it takes the search path from its caller, which would then be
// us. A loaded instrumented object calls __tsan_init first of all, which refreshes the list of
// modules.
#include <dlfcn.h>

#include "runtime/common/intercept/interceptor.h"

namespace deadheat::runtime {

namespace {

constexpr size_t kMaxModules = 4096;
bool forgotten[kMaxModules];

// Another object may be mapped at the same place later.
void forget_unloaded() {
  for (size_t i = 0; i < kMaxModules; ++i) {
    const Module* const module = module_at(i);
    if (module == nullptr) return;
    if (!module->unloaded || forgotten[i]) continue;
    forgotten[i] = true;
    if (self() != nullptr) on_memory_reset(self(), module->begin, module->end - module->begin);
  }
}

}  // namespace

INTERCEPT(int, dlclose, (void* handle)) {
  const int result = REAL(dlclose)(handle);
  if (result == 0) {
    modules_refresh();
    forget_unloaded();
  }
  return result;
}

}  // namespace deadheat::runtime
