// The sites of a recorded trace under their names: the same step that live findings go through, so
// that `run` and `record` + `analyze` speak of the same places.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "lib/model/finding.h"
#include "lib/symbols/symbolizer.h"

namespace deadheat::places {

// A module as the traced process had it mapped.
struct MappedModule {
  std::string path, build_id;
  uint64_t begin = 0, size = 0;
};

// Names every site that is a place in a module, and the globals that were accessed; then unites
// findings that turn out to be one (a source line has many pcs). What could not be named is added
// to the problems of the last origin.
model::FindingsFile symbolize(model::FindingsFile file, std::span<const MappedModule> modules,
                              symbols::Symbolizer& symbolizer);

}  // namespace deadheat::places
