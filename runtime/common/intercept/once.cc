// pthread_once, call_once and the guards of C++ static locals. The initialiser's actions happen
// before every return.
//
// The guards are our own implementation of the C++ ABI's protocol, not a wrapper: in a C program
// that loads a C++ library later, no other implementation is within reach. Compiled code tests the
// first byte; the rest of the word is ours. That test is compiled into the program as an atomic
// load, so setting the byte goes through the mode's atomic store.
#include <linux/futex.h>
#include <pthread.h>
#include <threads.h>

#include "runtime/common/blocking.h"
#include "runtime/common/intercept/interceptor.h"
#include "runtime/common/os.h"

extern "C" void __tsan_atomic8_store(volatile uint8_t* address, uint8_t value, int order);

namespace deadheat::runtime {

// The real function takes no argument for the initialiser, which runs in the same thread.
struct OnceCall {
  void (*initialiser)();
  Address control;
  Address pc;
  OnceCall* outer;
  OnceCall* next_running = nullptr;
};

namespace {

CALLS_PROGRAM void run_initialiser() {
  const OnceCall call = *local.once;
  local.once = call.outer;  // now, because the initialiser may call once itself, or not return
  call.initialiser();
  if (self() != nullptr) on_once_done(self(), call.pc, call.control);
}

// Those whose initialiser runs, while the mode decides who runs: the real function would block.
Lock running_lock;
OnceCall* running;

bool begin_once(OnceCall* call) {
  const Locked locked(running_lock);
  for (const OnceCall* one = running; one != nullptr; one = one->next_running)
    if (one->control == call->control) return false;
  call->next_running = running;
  running = call;
  return true;
}

void end_once(const OnceCall* call) {
  const Locked locked(running_lock);
  for (OnceCall** one = &running; *one != nullptr; one = &(*one)->next_running) {
    if (*one != call) continue;
    *one = call->next_running;
    return;
  }
}

template <typename Call>
int call_once_with(const volatile void* control, void (*initialiser)(), Address pc, Call call) {
  Thread* const thread = self();
  OnceCall record{initialiser, address_of(control), pc, local.once};
  OnceCall* const outer = local.once;
  const bool wait = scheduled(thread);
  const Blocking how{thread, pc, Point::kOnce, control};
  const auto begin = [&] { return begin_once(&record) ? 0 : EBUSY; };
  if (wait) block_until(how, begin, begin);
  local.once = &record;
  const int result = call();
  local.once = outer;
  if (wait) {
    end_once(&record);
    released(control);
  }
  if (result == 0 && thread != nullptr) on_once_seen(thread, pc, address_of(control));
  return result;
}

// Values of the guard's first word: bit 0 of the first byte is the ABI's.
constexpr uint32_t kDone = 1, kBusy = 0x100, kWaiting = 0x10000;

void futex(uint32_t* word, int operation, uint32_t value) {
  system_call(SYS_futex, reinterpret_cast<long>(word), operation | FUTEX_PRIVATE_FLAG, value);
}

bool acquire_guard(uint32_t* word, Address pc) {
  point(self(), pc, Point::kOnce, word);
  for (;;) {
    uint32_t found = 0;
    if (__atomic_compare_exchange_n(word, &found, kBusy, false, __ATOMIC_ACQUIRE, __ATOMIC_ACQUIRE))
      return true;
    if ((found & kDone) != 0) return false;
    if (scheduled(self())) {
      mode_block(self(), pc, Point::kOnce, address_of(word), kForever);
      continue;
    }
    if ((found & kWaiting) == 0 &&
        !__atomic_compare_exchange_n(word, &found, found | kWaiting, false, __ATOMIC_RELAXED,
                                     __ATOMIC_RELAXED))
      continue;
    futex(word, FUTEX_WAIT, found | kWaiting);
  }
}

void leave_guard(uint32_t* word, uint32_t value) {
  if ((__atomic_exchange_n(word, value, __ATOMIC_RELEASE) & kWaiting) != 0)
    futex(word, FUTEX_WAKE, INT32_MAX);
  released(word);
}

}  // namespace

INTERCEPT(int, pthread_once, (pthread_once_t * control, void (*initialiser)())) {
  return call_once_with(control, initialiser, CALLER,
                        [=] { return REAL(pthread_once)(control, run_initialiser); });
}

INTERCEPT(void, call_once, (once_flag * flag, void (*initialiser)())) {
  call_once_with(flag, initialiser, CALLER, [=] {
    REAL(call_once)(flag, run_initialiser);
    return 0;
  });
}

EXPORTED int __cxa_guard_acquire(uint64_t* guard) {
  const bool ours = acquire_guard(reinterpret_cast<uint32_t*>(guard), CALLER);
  if (!ours && self() != nullptr) on_once_seen(self(), CALLER, address_of(guard));
  return ours ? 1 : 0;
}

EXPORTED void __cxa_guard_release(uint64_t* guard) {
  if (self() != nullptr) {
    on_once_done(self(), CALLER, address_of(guard));
    __tsan_atomic8_store(reinterpret_cast<uint8_t*>(guard), kDone, __ATOMIC_RELEASE);
  }
  leave_guard(reinterpret_cast<uint32_t*>(guard), kDone);
}

EXPORTED void __cxa_guard_abort(uint64_t* guard) {
  leave_guard(reinterpret_cast<uint32_t*>(guard), 0);
}

}  // namespace deadheat::runtime
