// Shared by the front ends: a thread's current task, and how they find the real functions.
#pragma once

#include "runtime/common/intercept/interceptor.h"
#include "runtime/common/openmp/model.h"

namespace deadheat::runtime::openmp {

extern __thread Task* current_task __attribute__((tls_model("initial-exec")));

// A function of the OpenMP library that the program uses, looked up on first use: a program without
// OpenMP pays nothing at its start. The library may have been dropped at link time, because we
// define all the names that the program needs, or belong only to a plugin.
void* find_openmp(const char* name);

// False: libomp replaces libgomp and reports by itself.
bool is_libgomp();

}  // namespace deadheat::runtime::openmp

#define OPENMP(name) \
  (deadheat::runtime::found_once(real_##name, #name, deadheat::runtime::openmp::find_openmp))

#define INTERCEPT_OPENMP(result, name, parameters)            \
  using Type_##name = result parameters;                      \
  static Type_##name* real_##name;                            \
  EXPORTED result intercept_##name parameters __asm__(#name); \
  extern "C" result intercept_##name parameters
