// Watchpoints of another task as perf events that send it SIGTRAP (attr.sigtrap, Linux 5.13).
//
// The debug registers that ptrace sets can be changed only while the task is stopped. With 64
// threads on two processors each sample waited milliseconds until all of them had been scheduled in
// order to stop, and threads sleeping in a call that an interruption would end could not be stopped
// at all. A perf event is changed from outside in 2 to 10 us, whatever the task does. The trap
// carries the number of its watch, so a late one is never mistaken for another's.
//
// ptrace sets the registers if perf is not allowed (perf_event_paranoid), the kernel is older, or
// ptrace set registers of the task before.
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
    kGone,     // the task has ended
    kRefused,  // not allowed, unknown to this kernel, or another user has the registers
  };
  // Changes only what differs; the task may be running.
  Set set(int task, const WatchRegisters& wish);
  void close();  // a SIGTRAP may still be pending

 private:
  struct Event {
    ScopedFd file;
    uint64_t serial = 0;  // what it was set for
    bool on = false;
  };
  Set change(int task, size_t number, const WatchRegisters& wish);
  std::array<Event, Backend::kRegisters> events_;
};

// For a SIGTRAP; 0 if no event of ours sent it.
uint64_t watch_of_trap(const siginfo_t& info);
// Whether the task blocked SIGTRAP when it touched the memory: then its position says nothing.
bool trap_was_blocked(const siginfo_t& info);

}  // namespace deadheat::sampler
