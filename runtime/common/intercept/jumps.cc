// longjmp. setjmp needs no interceptor: the jump buffer holds the stack pointer to return to. glibc
// stores it mixed with a per-thread secret; the mixing is part of its ABI for debuggers and stable
// since 2005. The frames being left are those whose return addresses lie on the stack between here
// and there; the mode compares them with its own call stack.
//
// C++ exceptions need nothing: compilers call the exit hooks on that path too.
#include <setjmp.h>
#include <ucontext.h>

#include "runtime/common/intercept/interceptor.h"
#include "runtime/common/intercept/signals.h"

namespace deadheat::runtime {

namespace {

uint64_t unannounced;

constexpr size_t kStackPointer = 6;  // index in the buffer

Address target_of(const __jmp_buf_tag* buffer) {
  const auto mixed = static_cast<uint64_t>(buffer->__jmpbuf[kStackPointer]);
  uint64_t secret;
  asm("mov %%fs:0x30, %0" : "=r"(secret));
  return (mixed >> 17 | mixed << 47) ^ secret;
}

[[gnu::noinline]] void will_jump(const __jmp_buf_tag* buffer) {
  const Address target = target_of(buffer);
  const Address here = address_of(__builtin_frame_address(0));
  constexpr Address kMaxDistance = 1 << 30;  // farther away is another stack: nothing to compare
  leave_handlers(target);
  if (self() == nullptr || target <= here || target - here > kMaxDistance) return;
  on_jump(self(), reinterpret_cast<const Address*>(here), reinterpret_cast<const Address*>(target));
}

}  // namespace

// Modes without a call stack have nothing to do.
[[gnu::weak]] void on_jump(Thread*, const Address*, const Address*) {}

uint64_t unannounced_switches() { return __atomic_load_n(&unannounced, __ATOMIC_RELAXED); }

// A fiber that nobody announces is code of the thread that runs it: this hides its races with
// other fibers of that thread.
INTERCEPT(int, swapcontext, (ucontext_t * from, const ucontext_t* to)) {
  if (!local.fiber_announced) __atomic_fetch_add(&unannounced, 1, __ATOMIC_RELAXED);
  local.fiber_announced = false;
  return REAL(swapcontext)(from, to);
}

INTERCEPT(void, longjmp, (__jmp_buf_tag * buffer, int value)) {
  will_jump(buffer);
  REAL(longjmp)(buffer, value);
}

INTERCEPT(void, _longjmp, (__jmp_buf_tag * buffer, int value)) {
  will_jump(buffer);
  REAL(_longjmp)(buffer, value);
}

INTERCEPT(void, siglongjmp, (__jmp_buf_tag * buffer, int value)) {
  will_jump(buffer);
  REAL(siglongjmp)(buffer, value);
}

INTERCEPT(void, __longjmp_chk, (__jmp_buf_tag * buffer, int value)) {
  will_jump(buffer);
  REAL(__longjmp_chk)(buffer, value);
}

}  // namespace deadheat::runtime
