// What the trial reports to the host, as raw lines (abi/trial.md).
#pragma once

#include "runtime/schedule/decision_log.h"

namespace deadheat::runtime {

void start_reports();
void finish_reports();  // the end line; once
// Both threads are stopped before their accesses.
void report_race(Thread& arrived, Thread& held, bool arrived_first);
[[noreturn]] void report_deadlock();
void report_released();
[[noreturn]] void report_hang();  // with all threads released
void report_diverged(uint64_t index, const Decision* expected, const Decision& found);
void report_crash(Thread* self, int signal, Address pc);
uint64_t races_found();

}  // namespace deadheat::runtime
