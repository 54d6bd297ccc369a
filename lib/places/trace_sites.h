// Names the sites of a recorded trace. Live findings go through the same step, so that `run` and
// `record` + `analyze` report the same places.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "lib/model/finding.h"
#include "lib/symbols/symbolizer.h"

namespace deadheat::places {

// A module as it was mapped in the traced process.
struct MappedModule {
  std::string path, build_id;
  uint64_t begin = 0, size = 0;
};

// Names every site that is a place in a module, and the globals that were accessed; then merges
// findings that turn out to be the same (a source line has many pcs). Names that are missing are
// reported in the problems of the last origin.
model::FindingsFile symbolize(model::FindingsFile file, std::span<const MappedModule> modules,
                              symbols::Symbolizer& symbolizer);

}  // namespace deadheat::places
