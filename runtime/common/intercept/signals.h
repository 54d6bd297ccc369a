// The program's signal handlers, as seen by the rest of the runtime.
//
// A mode wraps code that a handler must not interrupt and re-enter in an Inside: a handler of an
// asynchronous signal that arrives meanwhile runs when the outermost Inside ends. Blocking calls
// are never inside one.
#pragma once

#include "runtime/common/intercept/interceptor.h"

namespace deadheat::runtime {

class Inside {
 public:
  explicit Inside(Thread* thread) : common_(common(thread)) {
    ++common_.inside;
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
  }
  ~Inside() {
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    if (--common_.inside == 0 && __builtin_expect(common_.signal_waits, 0)) run_pending_signals();
  }
  Inside(const Inside&) = delete;
  Inside& operator=(const Inside&) = delete;

 private:
  ThreadCommon& common_;
};

// A jump to a frame at `target` leaves the handlers that run deeper on the stack.
void leave_handlers(Address target);

}  // namespace deadheat::runtime
