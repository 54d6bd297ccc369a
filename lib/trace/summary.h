// Counts what a trace contains: the data behind `deadheat trace info`.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "lib/base/counter.h"
#include "lib/base/result.h"
#include "lib/trace/event.h"
#include "lib/trace/metadata.h"
#include "lib/trace/open.h"

namespace deadheat::trace {

struct TraceSummary {
  std::string format;  // "Deadheat trace" or "STD text"
  uint32_t version = 0;
  bool total_order = false, dense_stamps = false;
  uint64_t bytes = 0, events = 0, stamped = 0, sites = 0, threads = 0;
  std::array<uint64_t, static_cast<size_t>(EventKind::kCount)> by_kind{};
  uint64_t atomics = 0;  // among reads and writes
  uint64_t chunks = 0, compressed_chunks = 0, open_chunks = 0, stored_bytes = 0, raw_bytes = 0;
  uint64_t horizon = 0;  // last stamp read, if a loss stopped reading
  std::string tool;
  std::vector<Process> processes;
  std::vector<Module> modules;
  std::vector<std::string> thread_names;  // the first kMaxThreadNames
  Counters counters;
  std::vector<std::string> problems;

  static constexpr size_t kMaxThreadNames = 64;
};

// Reads the whole trace.
Result<TraceSummary> summarize(OpenedTrace& trace,
                               const std::function<void(uint64_t events)>& progress = {});

}  // namespace deadheat::trace
