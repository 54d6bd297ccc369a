// oneTBB (libtbb.so.12): what the program asks of the library, in the library's stable binary
// interface (tbb::detail::r1). Most of oneTBB is in its headers and is compiled, and instrumented,
// with the program: containers, most mutexes, the counters of a tree of tasks. The library passes
// tasks from thread to thread and waits; tasks.cc and pipeline.cc say what that orders,
// memory.cc and locks.cc do for the rest. How the library gets there is not looked at (modules.h,
// is_pool_code).
//
//   spawn, enqueue, submit   what precedes it → the task's execute() or cancel()
//   wait                     every release of the wait_context (in the headers) → goes on
//   task_arena::execute      what precedes it → the delegate; its end → goes on
//   parallel_pipeline        every call of a stage → those that begin later
//
// Tasks that run in one thread are ordered by that thread: enumerable_thread_specific and
// thread-local variables belong to threads. That misses races of tasks that happened to run in the
// same thread; no report is false for it.
//
// Not modelled: observers, suspended tasks, and the task groups of 2022's headers, which
// count inside the library. A program that uses one of them makes libtbb a library like any other
// (abandon_model): its calls are regions, and races near them are candidates that name it.
#pragma once

#include "runtime/common/intercept/interceptor.h"

namespace deadheat::runtime::tbb {

void* find_function(const char* name);
void abandon_model();

template <typename Function>
inline Function* function(Function*& real, const char* name) {
  Function* found = __atomic_load_n(&real, __ATOMIC_RELAXED);
  if (__builtin_expect(found == nullptr, 0)) {
    found = reinterpret_cast<Function*>(find_function(name));
    __atomic_store_n(&real, found, __ATOMIC_RELAXED);
  }
  return found;
}

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

#define TBB(id) (deadheat::runtime::tbb::function(real_##id, name_##id))

// `symbol`: the mangled name, which exports.map lists too.
#define INTERCEPT_TBB(result, id, symbol, parameters)        \
  using Type_##id = result parameters;                       \
  static Type_##id* real_##id;                               \
  static const char name_##id[] = symbol;                    \
  EXPORTED result intercept_##id parameters __asm__(symbol); \
  extern "C" result intercept_##id parameters
#define TBB_R1(name) "_ZN3tbb6detail2r1" name
