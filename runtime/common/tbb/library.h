// oneTBB (libtbb.so.12): what the program asks of the library, through the library's stable binary
// interface (tbb::detail::r1). Most of oneTBB is in its headers and is compiled, and instrumented,
// with the program: containers, most mutexes, the counters of a task tree. The library passes
// tasks from thread to thread and waits; tasks.cc and pipeline.cc define what that orders,
// memory.cc and locks.cc do so for the rest. The library's internals are ignored (modules.h,
// is_pool_code).
//
//   spawn, enqueue, submit   what precedes it → the task's execute() or cancel()
//   wait                     every release of the wait_context (in the headers) → goes on
//   task_arena::execute      what precedes it → the delegate; its end → goes on
//   parallel_pipeline        every call of a stage → those that begin later
//
// Tasks that run in one thread are ordered by that thread, because enumerable_thread_specific and
// thread-local variables belong to threads. This misses races of tasks that happened to run in the
// same thread, but causes no false report.
//
// Not modelled: observers, suspended tasks, and the task groups of 2022's headers, which count
// inside the library. A program that uses one of them makes libtbb an ordinary library
// (abandon_model): its calls are regions, and races near them are candidates that name it.
#pragma once

#include "runtime/common/intercept/interceptor.h"

namespace deadheat::runtime::tbb {

void* find_function(const char* name);
void abandon_model();

inline void before(const void* object) {
  if (self() != nullptr) on_happens_before(self(), 0, address_of(object));
}
inline void after(const void* object) {
  if (self() != nullptr) on_happens_after(self(), 0, address_of(object));
}

// Calls `call(data)`, then `finally(data)`, also if an exception passes through (guard.c).
extern "C" void deadheat_guarded(void (*call)(void*), void (*finally)(void*), void* data)
    __attribute__((visibility("hidden")));

template <typename Call, typename Finally>
inline void guarded(Call call, Finally finally) {
  struct Both {
    Call* call;
    Finally* finally;
  } both{&call, &finally};
  deadheat_guarded([](void* data) { (*static_cast<Both*>(data)->call)(); },
                   [](void* data) { (*static_cast<Both*>(data)->finally)(); }, &both);
}

}  // namespace deadheat::runtime::tbb

#define TBB(id) \
  (deadheat::runtime::found_once(real_##id, name_##id, deadheat::runtime::tbb::find_function))

// `symbol`: the mangled name, which exports.map lists too.
#define INTERCEPT_TBB(result, id, symbol, parameters)        \
  using Type_##id = result parameters;                       \
  static Type_##id* real_##id;                               \
  static const char name_##id[] = symbol;                    \
  EXPORTED result intercept_##id parameters __asm__(symbol); \
  extern "C" result intercept_##id parameters
#define TBB_R1(name) "_ZN3tbb6detail2r1" name
