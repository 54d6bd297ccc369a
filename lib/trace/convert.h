// Converts any Source to a container or text.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "lib/base/counter.h"
#include "lib/base/result.h"
#include "lib/trace/event.h"

namespace deadheat::trace {

enum class ConvertTo { kContainer, kText, kStd };

struct ConvertOptions {
  ConvertTo to = ConvertTo::kContainer;
  int zstd_level = 0;
  size_t chunk_size = 256 << 10;
  bool partial = false;      // drop the stamps of plain accesses
  bool approximate = false;  // strict STD: see TextWriter
  std::function<void(uint64_t events)> progress = {};
};

struct Converted {
  uint64_t events = 0;
  uint64_t bytes = 0;
  Counters counters;  // what the target format could not represent
};

// "-" is standard output.
Result<Converted> convert(Source& source, const std::string& path, const ConvertOptions& options);

}  // namespace deadheat::trace
