// Raw reports, the JSON lines that the host reads (abi/raw_report.md): the part common to all
// modes.
#pragma once

#include "runtime/common/mode.h"
#include "runtime/common/raw_object.h"

namespace deadheat::runtime {

bool raw_reports();                 // raw_path is set
void append_raw(const Text& line);  // a line that did not fit its buffer is dropped and counted
void raw_process_line(const char* mode);  // the first line of a process, before any module is named
void raw_instrumented_modules();          // one line for each module without one

struct Module;
void raw_module(const Module& module);  // its line, once
// [module, offset]; writes the module's line first if it has none.
void raw_place(Text& out, Address pc);

struct CounterEntry {
  const char* name;
  uint64_t value;
  const char* what;
  bool loss;
};
// The last line of a process.
void raw_end_line(Text& line, uint64_t races, const CounterEntry* counters, size_t count);

// Losses in the parts that all modes share; each mode writes these with its own counters.
inline constexpr size_t kCommonCounters = 5;
void common_counters(CounterEntry* out);
void count_line_cut();  // a line was written without a part that did not fit

}  // namespace deadheat::runtime
