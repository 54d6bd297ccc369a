// Opens any trace: our container or STD text, distinguished by the first bytes.
#pragma once

#include <memory>
#include <string>

#include "lib/base/result.h"
#include "lib/trace/event.h"

namespace deadheat::trace {

struct OpenOptions {
  bool ignore_gaps = false;              // container: continue where stamped events are missing
  bool strict_std = false;               // text: RAPID's operations only, every operand a name
  uint64_t memory_limit = 256ULL << 20;  // container: bytes of chunks in memory
};

enum class TraceFormat { kContainer, kText };

struct OpenedTrace {
  TraceFormat format = TraceFormat::kContainer;
  std::unique_ptr<Source> source;  // a ContainerSource or a StdSource
};

// "-" is standard input; pipes are spooled, so that rewind() works.
Result<OpenedTrace> open_any_trace(const std::string& path, const OpenOptions& options = {});
Result<std::unique_ptr<Source>> open_trace(const std::string& path,
                                           const OpenOptions& options = {});

}  // namespace deadheat::trace
