// A separate clock for the traced programs: the file times that they see, and the translation of
// their absolute deadlines for the kernel.
#pragma once

#include <cstdint>

#include "lib/process/sources/ptrace/tracee.h"

namespace deadheat::process::sources {

struct TracedTask;

class WallClock {
 public:
  virtual ~WallClock() = default;
  virtual int64_t shown(int64_t real_ns) const = 0;  // of the machine's wall clock
  // Added to a deadline, by the wall clock or by clocks that count from the machine's start.
  virtual int64_t shift(bool wall) const = 0;
};

// Calls that may take an absolute deadline; private calls, at which a tracer stops only for this.
bool may_have_deadline(uint32_t number);

// At the entry of such a call: copies the deadline to unused stack and shifts it there. The
// program's own copy is unchanged, since loops pass the same one again.
void move_deadline(TracedTask& task, const CallInfo& call, const WallClock& clock);

// At the entry of a futex call that should be woken rather than time out, although everything takes
// longer now: two seconds, which also bounds a wait that is in vain.
void wait_longer(TracedTask& task);

// At the exit of a call of the stat family.
void show_file_times(const Tracee& tracee, uint32_t number, const uint64_t* arguments,
                     const WallClock& clock);

}  // namespace deadheat::process::sources
