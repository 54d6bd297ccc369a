// Facts about the process in separate META chunks: its identity, its modules and threads, and what
// was not recorded. Appended as they become known; each is committed when complete.
#pragma once

#include <stdint.h>

#include "runtime/common/modules.h"

namespace deadheat::runtime {

void meta_start();  // in a new process: its command and current modules
// When this returns, the module has a record.
void meta_module(const Module& module);
void meta_thread(uint32_t number, const char* name);

// What the trace lacks. kStopped: after recording stopped; nothing earlier is affected.
// kInterrupted: in signal handlers that interrupted the recorder; edges may be missing.
enum class Lost : uint32_t { kStopped, kInterrupted };
void meta_lost(Lost what, uint64_t events);  // cumulative: the last record counts

void meta_end(uint64_t streams);  // the process ends normally; it may still continue

void meta_before_fork();
void meta_after_fork_parent();
void meta_after_fork_child();  // forgets the parent's chunk

}  // namespace deadheat::runtime
