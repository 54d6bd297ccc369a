// Clocks of the traced programs' own: what they are shown of file times, and how their absolute
// deadlines are told to the kernel.
#pragma once

#include <cstdint>

#include "lib/process/sources/ptrace/tracee.h"

namespace deadheat::process::sources {

struct TracedTask;

class WallClock {
 public:
  virtual ~WallClock() = default;
  virtual int64_t shown(int64_t real_ns) const = 0;  // of the machine's wall clock
  // To be added to a deadline, by the wall clock or by those that count from the machine's start.
  virtual int64_t shift(bool wall) const = 0;
};

// Calls that may take an absolute deadline; private ones, at which a tracer stops only for this.
bool may_have_deadline(uint32_t number);

// At the entry of such a call: the deadline is copied to unused stack and moved there; the
// program's own stays as it is, since loops hand the same one over again.
void move_deadline(TracedTask& task, const CallInfo& call, const WallClock& clock);

// At the entry of a futex call that is to be woken and not to time out, although everything takes
// longer now: two seconds, so that who waits in vain after all does so for that long.
void wait_longer(TracedTask& task);

// At the exit of a call of the stat family.
void show_file_times(const Tracee& tracee, uint32_t number, const uint64_t* arguments,
                     const WallClock& clock);

}  // namespace deadheat::process::sources
