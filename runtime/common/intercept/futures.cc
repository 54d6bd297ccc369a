// Futures that become ready "at thread exit" (promise::set_value_at_thread_exit and its like).
// libstdc++ stores that they are ready in a destructor of the thread's, in code of its own that is
// not instrumented. So the call that it leaves for the thread's end goes through one of ours, which
// makes the same release at the same object first: what the thread has done by then, destructors of
// its variables included, happens before what a waiter does. (notify_all_at_thread_exit unlocks a
// mutex, which is seen.)
//
// Meanwhile we hold the state that both sides share. If the waiter has let go of it by then, the
// library would destroy it without having been seen to acquire what the waiter did.
//
// The layouts below are libstdc++'s since GCC 5, part of its ABI.
#include "runtime/common/intercept/interceptor.h"

extern "C" {
int32_t __tsan_atomic32_load(const volatile int32_t* address, int order);
int32_t __tsan_atomic32_fetch_add(volatile int32_t* address, int32_t value, int order);
int __tsan_atomic32_compare_exchange_strong(volatile int32_t* address, int32_t* expected,
                                            int32_t value, int order, int order_of_failure);
}

namespace deadheat::runtime {

namespace {

struct Counted;  // std::_Sp_counted_base
struct CountedFunctions {
  void (*destructors[2])(Counted*);
  void (*dispose)(Counted*);
  void (*destroy)(Counted*);
};
struct Counted {
  const CountedFunctions* functions;
  int32_t uses, weak_uses;
};

struct State {  // std::__future_base::_State_baseV2
  void* functions;
  void* result;
  int32_t status;
};

struct MakeReady {  // its _Make_ready, of which the library keeps a list
  MakeReady* next;
  void (*run)(void*);
  State* state;
  Counted* counted;
};

// A new user of the state, unless it has none any more.
bool holds(Counted* counted) {
  int32_t uses = __tsan_atomic32_load(&counted->uses, __ATOMIC_RELAXED);
  while (uses != 0)
    if (__tsan_atomic32_compare_exchange_strong(&counted->uses, &uses, uses + 1, __ATOMIC_ACQ_REL,
                                                __ATOMIC_RELAXED) != 0)
      return true;
  return false;
}

CALLS_PROGRAM void lets_go(Counted* counted) {
  if (__tsan_atomic32_fetch_add(&counted->uses, -1, __ATOMIC_ACQ_REL) != 1) return;
  counted->functions->dispose(counted);
  if (__tsan_atomic32_fetch_add(&counted->weak_uses, -1, __ATOMIC_ACQ_REL) == 1)
    counted->functions->destroy(counted);
  NO_TAIL_CALL;
}

void (*library_run)(void*);  // the same for all

void run_at_exit(void* entry) {
  const auto* const ready = static_cast<const MakeReady*>(entry);
  Counted* const counted = ready->counted;
  const bool held = self() != nullptr && counted != nullptr && holds(counted);
  if (held) __tsan_atomic32_fetch_add(&ready->state->status, 0, __ATOMIC_RELEASE);
  library_run(entry);
  if (held) lets_go(counted);
}

}  // namespace

INTERCEPT(void, _ZNSt13__future_base13_State_baseV211_Make_ready6_M_setEv, (void* entry)) {
  REAL(_ZNSt13__future_base13_State_baseV211_Make_ready6_M_setEv)(entry);
  auto* const ready = static_cast<MakeReady*>(entry);
  if (in_production() || self() == nullptr) return;  // there all of a thread's end is seen
  __atomic_store_n(&library_run, ready->run, __ATOMIC_RELAXED);
  ready->run = run_at_exit;
}

}  // namespace deadheat::runtime
