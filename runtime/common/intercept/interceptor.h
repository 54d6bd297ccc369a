// How to write an interceptor. INTERCEPT(int, close, (int fd)) { ... } defines the exported
// function `close` and REAL(close), libc's. The C++ name differs, so that no header's declaration
// (its attributes, exception specification, builtin status) applies to ours.
//
// Every interceptor does the real work regardless of the runtime's state, leaves errno as the real
// function left it, and tells the mode only what happened: self() is null before the start and
// after a thread's end. The caller's pc decides whether its accesses count: uninstrumented code
// must never be part of a report.
#pragma once

#include <pthread.h>

#include "runtime/common/blocking.h"
#include "runtime/common/mode.h"
#include "runtime/common/modules.h"
#include "runtime/common/thread.h"

namespace deadheat::runtime {

// One per interceptor, collected by the linker in a section; real.cc fills in the functions.
struct alignas(32) RealEntry {  // without this, the compiler may align them with gaps
  const char* name;
  const char* version;  // null: the default one
  void** function;
};

void resolve_real();  // all of them; may be called again

template <typename Function>
inline Function* resolved(Function*& real) {
  if (__builtin_expect(real == nullptr, 0)) resolve_real();
  return real;
}

// A function of a library that a program may or may not have, looked up on first use.
template <typename Function>
inline Function* found_once(Function*& real, const char* name, void* (*find)(const char*)) {
  Function* found = __atomic_load_n(&real, __ATOMIC_RELAXED);
  if (__builtin_expect(found == nullptr, 0)) {
    found = reinterpret_cast<Function*>(find(name));
    __atomic_store_n(&real, found, __ATOMIC_RELAXED);
  }
  return found;
}

// What interceptors remember about a thread, even while self() is null.
struct OnceCall;
struct Local {
  uint32_t kernel_id = 0;          // 0: not determined yet
  uint32_t destructor_rounds = 0;  // remaining rounds of TLS destruction
  OnceCall* once = nullptr;
  uint32_t pending_signals = 0;
  bool fiber_announced = false;           // the next switch of stacks
  const pthread_mutex_t* robust[8] = {};  // held; any further ones are not tracked
};
extern __thread Local local __attribute__((tls_model("initial-exec")));

uint32_t own_kernel_id();
uint64_t unannounced_switches();  // of stacks, by swapcontext
// The thread ends: the next owner of what it holds is ordered after it.
void leave_robust_mutexes(Thread* thread);
void leave_fibers();  // the thread is about to end: it returns to its own fiber

inline Address address_of(const volatile void* pointer) {
  return reinterpret_cast<Address>(pointer);
}

// The accesses of a libc function on behalf of its caller. Accesses announced before they happen
// are points of a scheduling mode: another thread may run first.
inline void accesses(Thread* thread, Address pc, const volatile void* begin, size_t size,
                     bool write) {
  if (in_production() || thread == nullptr || size == 0 || !is_instrumented(pc)) return;
  if (scheduled(thread)) mode_before_range(thread, pc, address_of(begin), size, write);
  on_range(thread, pc, address_of(begin), size, write);
}
inline void accessed(Thread* thread, Address pc, const volatile void* begin, size_t size,
                     bool write) {
  if (!in_production() && thread != nullptr && size != 0 && is_instrumented(pc))
    on_range(thread, pc, address_of(begin), size, write);
}
inline void was_read(Thread* thread, Address pc, const volatile void* begin, size_t size) {
  accessed(thread, pc, begin, size, false);
}
inline void was_written(Thread* thread, Address pc, const volatile void* begin, size_t size) {
  if (scheduled(thread) && size != 0) mode_after_write(thread, pc, address_of(begin), size);
  accessed(thread, pc, begin, size, true);
}

// A function that only reads, and whose result tells how far: `seen(result)` bytes from `begin`.
// When a mode schedules, others may run after this read, so the read that counts follows.
template <typename Real, typename Seen>
inline auto looks(Address pc, const volatile void* begin, Real real, Seen seen) {
  const auto result = real();
  accesses(self(), pc, begin, seen(result), false);
  return scheduled(self()) ? real() : result;
}

}  // namespace deadheat::runtime

// A function of ours that calls the program's. If that ends in a tail call of an intercepted
// function, the return address is in here, but the caller is the program (modules.cc).
#define CALLS_PROGRAM __attribute__((section("deadheat_calls"), noinline))
#define NO_TAIL_CALL __asm__ volatile("")  // after such a call, or it would become a tail call
#define EXPORTED extern "C" __attribute__((visibility("default"), used))
#ifdef DEADHEAT_PRODUCTION
#define CALLER (deadheat::runtime::Address{0})  // nobody asks whose access or lock it is
#else
#define CALLER reinterpret_cast<deadheat::runtime::Address>(__builtin_return_address(0))
#endif
#define REAL(name) (deadheat::runtime::resolved(real_##name))

// A real function needed without being intercepted.
#define REAL_VERSION(result, name, version, parameters)                    \
  using Type_##name = result parameters;                                   \
  static Type_##name* real_##name;                                         \
  [[gnu::section("deadheat_real"),                                         \
    gnu::used]] static const deadheat::runtime::RealEntry entry_##name = { \
      #name, version, reinterpret_cast<void**>(&real_##name)};
#define REAL_FUNCTION(result, name, parameters) REAL_VERSION(result, name, nullptr, parameters)

#define INTERCEPT_VERSION(result, name, version, parameters)  \
  REAL_VERSION(result, name, version, parameters)             \
  EXPORTED result intercept_##name parameters __asm__(#name); \
  extern "C" result intercept_##name parameters

#define INTERCEPT(result, name, parameters) INTERCEPT_VERSION(result, name, nullptr, parameters)

// An alias of an intercepted function.
#define INTERCEPT_ALIAS(result, alias, parameters)          \
  EXPORTED result alias_##alias parameters __asm__(#alias); \
  extern "C" result alias_##alias parameters
