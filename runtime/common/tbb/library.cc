#include "runtime/common/tbb/library.h"

#include <dlfcn.h>

#include "runtime/common/os.h"
#include "runtime/common/print.h"

namespace deadheat::runtime::tbb {

// Like find_openmp(): the linker may have dropped the library, because we define the names.
void* find_function(const char* name) {
  void* found = dlsym(RTLD_NEXT, name);
  if (found != nullptr) return found;
  static const int kWays[] = {RTLD_NOLOAD | RTLD_LAZY, RTLD_GLOBAL | RTLD_LAZY};
  for (const int flags : kWays) {
    void* const handle = dlopen("libtbb.so.12", flags);
    found = handle == nullptr ? nullptr : dlsym(handle, name);
    if (found == nullptr) continue;
    modules_refresh();
    return found;
  }
  say("the program calls a oneTBB function, and no oneTBB library has it:");
  say(name);
  exit_process(127);
}

void abandon_model() {
  static int done;
  if (__atomic_exchange_n(&done, 1, __ATOMIC_RELAXED) == 0) module_is_no_pool("libtbb.so");
}

namespace {

// The parts that are not modelled.
INTERCEPT_TBB(void, observe, TBB_R1("7observeERNS0_2d123task_scheduler_observerEb"),
              (void* observer, bool on)) {
  abandon_model();
  TBB(observe)(observer, on);
}
INTERCEPT_TBB(void, suspend, TBB_R1("7suspendEPFvPvPNS1_18suspend_point_typeEES2_"),
              (void* callback, void* data)) {
  abandon_model();
  TBB(suspend)(callback, data);
}
INTERCEPT_TBB(void*, get_thread_reference_vertex,
              TBB_R1("27get_thread_reference_vertexEPNS0_2d126wait_tree_vertex_interfaceE"),
              (void* top)) {
  abandon_model();
  return TBB(get_thread_reference_vertex)(top);
}

}  // namespace

}  // namespace deadheat::runtime::tbb
