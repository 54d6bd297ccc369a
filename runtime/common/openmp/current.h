// What the front ends share: the task that a thread is in, and how they find the real functions.
#pragma once

#include "runtime/common/intercept/interceptor.h"
#include "runtime/common/openmp/model.h"

namespace deadheat::runtime::openmp {

extern __thread Task* current_task __attribute__((tls_model("initial-exec")));

// A function of the OpenMP library that the program uses. Looked for when first needed: a program
// without OpenMP pays nothing at its start. The library may have been left out at link time,
// because we have all names that the program asked it for, or be a plugin's alone.
void* find_openmp(const char* name);

template <typename Function>
inline Function* openmp_function(Function*& real, const char* name) {
  Function* found = __atomic_load_n(&real, __ATOMIC_RELAXED);
  if (__builtin_expect(found == nullptr, 0)) {
    found = reinterpret_cast<Function*>(find_openmp(name));
    __atomic_store_n(&real, found, __ATOMIC_RELAXED);
  }
  return found;
}

// False: libomp stands in libgomp's place, and tells us by itself.
bool is_libgomp();

}  // namespace deadheat::runtime::openmp

#define OPENMP(name) (deadheat::runtime::openmp::openmp_function(real_##name, #name))

#define INTERCEPT_OPENMP(result, name, parameters)            \
  using Type_##name = result parameters;                      \
  static Type_##name* real_##name;                            \
  EXPORTED result intercept_##name parameters __asm__(#name); \
  extern "C" result intercept_##name parameters
