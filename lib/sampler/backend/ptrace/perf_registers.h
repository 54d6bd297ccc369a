// Watchpoints of another task as perf events that send it SIGTRAP (attr.sigtrap, Linux 5.13).
//
// The debug registers that ptrace sets can only be changed while the task is stopped: with 64
// threads on two processors each sample waited milliseconds until all of them had been scheduled in
// order to stop, and those that slept in a call that an interruption would end could not be asked
// at all. A perf event is changed from outside, whatever the task does, in 2 to 10 us. The trap
// carries the number of its watch, so one that comes late is never taken for another's.
//
// Where perf is not allowed (perf_event_paranoid), the kernel is older, or registers of the task
// were set by ptrace before, ptrace sets them.
#pragma once

#include <signal.h>

#include <array>
#include <cstdint>

#include "lib/base/scoped_fd.h"
#include "lib/sampler/backend/backend.h"

namespace deadheat::sampler {

struct WatchRegisters;

class PerfRegisters {
 public:
  enum class Set : uint8_t {
    kYes,
    kGone,     // the task is
    kRefused,  // not allowed, not known to this kernel, or somebody else has the registers
  };
  // What differs is changed; the task may run.
  Set set(int task, const WatchRegisters& wish);
  void close();  // a SIGTRAP of one may still be pending

 private:
  struct Event {
    ScopedFd file;
    uint64_t serial = 0;  // what it was set for
    bool on = false;
  };
  Set change(int task, size_t number, const WatchRegisters& wish);
  std::array<Event, Backend::kRegisters> events_;
};

// Of a SIGTRAP: 0 where no event of ours sent it.
uint64_t watch_of_trap(const siginfo_t& info);
// The task blocked SIGTRAP when it touched the memory: where it is now says nothing.
bool trap_was_blocked(const siginfo_t& info);

}  // namespace deadheat::sampler
