#include "runtime/common/openmp/current.h"

#include <dlfcn.h>

#include "runtime/common/os.h"
#include "runtime/common/print.h"

namespace deadheat::runtime::openmp {

__thread Task* current_task __attribute__((tls_model("initial-exec")));

namespace {

void* find_in_library(const char* name) {
  static const char* const kLibraries[] = {"libgomp.so.1", "libomp.so.5", "libomp.so",
                                           "libiomp5.so"};
  static const int kWays[] = {RTLD_NOLOAD | RTLD_LAZY, RTLD_GLOBAL | RTLD_LAZY};
  for (const int flags : kWays) {
    for (const char* const library : kLibraries) {
      void* const handle = dlopen(library, flags);
      void* const found = handle == nullptr ? nullptr : dlsym(handle, name);
      if (found == nullptr) continue;
      modules_refresh();
      return found;
    }
  }
  return nullptr;
}

}  // namespace

void* find_openmp(const char* name) {
  void* found = dlsym(RTLD_NEXT, name);
  if (found == nullptr) found = find_in_library(name);
  if (found != nullptr) return found;
  say("the program calls an OpenMP function, and no OpenMP library has it:");
  say(name);
  exit_process(127);
}

bool is_libgomp() {
  enum : int { kUnknown, kYes, kNo };
  static int answer = kUnknown;
  if (__builtin_expect(answer == kUnknown, 0)) {
    const Module* const module = find_module(address_of(find_openmp("GOMP_parallel")));
    const Module* const other = find_module(address_of(dlsym(RTLD_NEXT, "__kmpc_fork_call")));
    answer = module != nullptr && module == other ? kNo : kYes;
  }
  return answer == kYes;
}

}  // namespace deadheat::runtime::openmp
