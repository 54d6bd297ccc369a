// Marks that a thread is inside the mode: signal handlers are deferred (signals.h).
#pragma once

#include "runtime/schedule/schedule.h"

namespace deadheat::runtime {

class Busy {
 public:
  explicit Busy(Thread& self) : common_(self.common) { common_.critical = common_.critical + 1; }
  ~Busy() {
    common_.critical = common_.critical - 1;
    if (common_.critical == 0 && common_.signal_waits) run_pending_signals();
  }
  Busy(const Busy&) = delete;
  Busy& operator=(const Busy&) = delete;

 private:
  ThreadCommon& common_;
};

}  // namespace deadheat::runtime
