// One traced task and its debug registers.
#pragma once

#include <sys/user.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "lib/sampler/backend/backend.h"
#include "lib/sampler/backend/ptrace/perf_registers.h"
#include "lib/sampler/backend/standstill.h"

namespace deadheat::sampler {

// The intended content of the debug registers, except for the task that each register excludes.
struct WatchRegisters {
  struct Register {
    WatchPiece piece;  // size 0: free
    bool reads_too = false;
    int except = 0;       // a task
    uint64_t watch = 0;   // the watch of the piece; 0: none
    uint64_t serial = 0;  // changes with every change
  };
  std::array<Register, Backend::kRegisters> all;
  uint64_t generation = 0;  // of all registers
  bool is_armed(uint64_t watch) const {
    return std::any_of(all.begin(), all.end(), [&](const Register& r) { return r.watch == watch; });
  }
};

struct PtraceTask {
  int id = 0;
  bool stopped = false;      // by ptrace, and noticed by us
  bool listening = false;    // stopped by a job-control signal, which must stay in force
  bool leaving = false;      // exiting: not to be waited for
  bool interrupted = false;  // PTRACE_INTERRUPT is pending
  int signal = 0;            // to deliver when it continues
  uint64_t generation = 0;   // of its current watchpoints
  bool has_watchpoints = false;
  std::array<uint64_t, Backend::kRegisters> serials{};  // what each register was set for
  // Registers that fired before they were changed; the SIGTRAP is still to come.
  bool trap_to_come = false;
  uint8_t fired = 0;
  PerfRegisters perf;
  bool not_begun = false;  // a new program: stopping it now costs it nothing
  uint64_t stopped_since_ns = 0;
  Standstill stood;
};

// Stopped tasks only. False if another user has the registers.
bool set_watchpoints(PtraceTask& task, const WatchRegisters& wish);
bool clear_watchpoints(PtraceTask& task);
// At a SIGTRAP of a debug register.
struct Fired {
  bool ours = false;
  std::vector<uint64_t> watches;  // empty: of watches that have ended
};
Fired take_fired(PtraceTask& task, const WatchRegisters& now);

// Whether SIGTRAP is pending for the task.
bool trap_pending(int task);

// A program with its own SIGTRAP handler. The kernel resets that handler when a trap of ours comes
// while the signal is blocked, as it is inside handlers, and the program's next own trap would end
// it. So a task is stopped at the first instruction of each handler, and wherever a task is stopped
// SIGTRAP is unblocked; the end of a handler restores the previous mask.
bool catches_trap(int process);
void unblock_trap(int task);
bool blocks_trap(int task);

// Whether two processes share one memory; nothing if the kernel does not tell.
std::optional<bool> shares_memory(int one, int other);
std::vector<int> children_of(int process);

// From /proc/N/status; empty, and 0, if absent.
std::string status_text(int task, const char* key);
int status_number(int task, const char* key);

}  // namespace deadheat::sampler
