// What every mode keeps about a thread: its number, and how interceptors know that they are already
// inside the runtime.
//
// self() is null before the library has started and after a thread's last TLS destructor: hooks and
// interceptors then only do the real work.
#pragma once

#include "runtime/common/mode.h"

namespace deadheat::runtime {

struct ThreadCommon {
  uint32_t number = 0;     // in order of creation; 0 is the main thread; never reused
  uint32_t kernel_id = 0;  // gettid()
  uint32_t parent = 0;
  Address routine = 0;  // the function that it begins with; 0: not known
  bool detached = false;
  bool finished = false;
  // Depth of interceptors that hide the calls they make (intercept/signals.h).
  uint32_t inside = 0;
  uint32_t signal_depth = 0;
  // Above 0 while the mode works in this thread and may hold its locks.
  volatile uint32_t critical = 0;
  volatile bool signal_waits = false;  // for `inside` and `critical` to be 0
  char name[16] = {};
  // What the code interrupted by a signal handler ignores: reads, writes, synchronisation.
  uint32_t interrupted_ignores[3] = {};
};

// Between the interrupted code and its handler. T: a mode's Thread. True: they ignore other things.
template <typename T>
bool swap_ignores(T& self) {
  uint32_t* const counts[] = {&self.ignore_reads, &self.ignore_writes, &self.ignore_sync};
  bool any = false;
  for (size_t i = 0; i < 3; ++i) {
    uint32_t& other = self.common.interrupted_ignores[i];
    any |= *counts[i] != other;
    const uint32_t mine = *counts[i];
    *counts[i] = other;
    other = mine;
  }
  return any;
}

extern __thread Thread* tls_self __attribute__((tls_model("initial-exec")));

inline Thread* self() { return tls_self; }
void run_pending_signals();            // runs queued signals that need not wait any longer
ThreadCommon& common(Thread* thread);  // defined by the mode: the common part of its Thread

}  // namespace deadheat::runtime
