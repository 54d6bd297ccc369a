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

// What the debug registers should hold, but for the task that each register leaves out.
struct WatchRegisters {
  struct Register {
    WatchPiece piece;  // size 0: free
    bool reads_too = false;
    int except = 0;       // a task
    uint64_t watch = 0;   // to whose pieces it belongs; 0: none
    uint64_t serial = 0;  // another one whenever it changes
  };
  std::array<Register, Backend::kRegisters> all;
  uint64_t generation = 0;  // of all of them
  bool is_armed(uint64_t watch) const {
    return std::any_of(all.begin(), all.end(), [&](const Register& r) { return r.watch == watch; });
  }
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
  std::array<uint64_t, Backend::kRegisters> serials{};  // what each register was set for
  // Registers that fired before they were set anew; the SIGTRAP is still to come.
  bool trap_to_come = false;
  uint8_t fired = 0;
  PerfRegisters perf;
  bool not_begun = false;  // a new program: what it stands now takes nothing from it
  uint64_t stopped_since_ns = 0;
  Standstill stood;
};

// Stopped tasks only. False where the registers are taken by somebody else.
bool set_watchpoints(PtraceTask& task, const WatchRegisters& wish);
bool clear_watchpoints(PtraceTask& task);
// At a SIGTRAP of a debug register.
struct Fired {
  bool ours = false;
  std::vector<uint64_t> watches;  // none: of watches that are over
};
Fired take_fired(PtraceTask& task, const WatchRegisters& now);

// SIGTRAP waits to be delivered to the task.
bool trap_pending(int task);

// A program with a handler of its own for SIGTRAP. The kernel forgets that handler when a trap of
// ours comes while the signal is blocked, as it is inside handlers, and the program's next own trap
// would end it. So a task is stopped at the first instruction of each handler, and wherever a task
// is stopped SIGTRAP is unblocked; the end of a handler brings back what was before it.
bool catches_trap(int process);
void unblock_trap(int task);
bool blocks_trap(int task);

// Whether two processes have one memory; nothing where the kernel does not tell.
std::optional<bool> shares_memory(int one, int other);
std::vector<int> children_of(int process);

// Of /proc/N/status; nothing, and 0, when there is none.
std::string status_text(int task, const char* key);
int status_number(int task, const char* key);

}  // namespace deadheat::sampler
