// One traced task and its debug registers.
#pragma once

#include <sys/user.h>

#include <cstdint>
#include <span>
#include <vector>

#include "lib/sampler/backend.h"

namespace deadheat::sampler {

struct WatchSet {
  std::vector<WatchPiece> pieces;
  bool reads_too = false;
  uint64_t generation = 0;
};

struct PtraceTask {
  int id = 0;
  bool stopped = false;      // by ptrace, and we have seen it
  bool listening = false;    // stopped by a job-control signal, which must stay in force
  bool leaving = false;      // on its way out: not to be waited for
  bool interrupted = false;  // PTRACE_INTERRUPT is under way
  int signal = 0;            // to deliver when it goes on
  uint64_t generation = 0;   // of the watchpoints that it has
  bool has_watchpoints = false;
  bool old_trap = false;  // a watchpoint fired before it was changed; its SIGTRAP is still to come
};

// Stopped tasks only. False where the registers are taken by somebody else.
bool set_watchpoints(PtraceTask& task, const WatchSet& wish);
bool clear_watchpoints(PtraceTask& task);
// At a SIGTRAP of a debug register: whose it is.
enum class Fired : uint8_t { kNotOurs, kOld, kCurrent };
Fired take_fired(PtraceTask& task);

// SIGTRAP waits to be delivered to the task.
bool trap_pending(int task);
// Of /proc/N/status; 0 when there is none.
int status_number(int task, const char* key);

}  // namespace deadheat::sampler
