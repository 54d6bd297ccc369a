// The life of the runtime in a process: start once, finish once.
#pragma once

#include <stdint.h>

namespace deadheat::runtime {

void start_runtime();  // does nothing after the first time

// The process ends with `status`: flushes, and returns the status to end with instead. Only the
// first call in a process flushes; `again` (an exec that may fail) does not count.
int finish_runtime(int status, bool again = false);

// The program is about to end because of a finding: calls the registered callback, once.
void program_dies();

// Around a fork that runs no pthread_atfork handlers (_Fork, clone).
void before_raw_fork();
void after_raw_fork(bool child);

void threads_start();  // threads.cc: the main thread and the TLS key
void threads_before_fork();
void threads_after_fork(bool child);
uint32_t threads_alive();    // including the calling one; only threads whose creation we saw
void exit_handlers_start();  // exit.cc

}  // namespace deadheat::runtime
