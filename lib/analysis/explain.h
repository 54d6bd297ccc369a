// The steps around each racy pair's example: what both threads synchronised on before and between
// the accesses.
#pragma once

#include <vector>

#include "lib/analysis/engine.h"

namespace deadheat::analysis {

// A further pass over the trace, up to the last example. Fills `steps`, the first side's `event`,
// size and address, and near_region. Pairs past kExplained keep empty steps: a report of hundreds
// of races needs no hundred pictures.
inline constexpr size_t kExplained = 500;
Status explain(trace::Source& source, std::vector<RacyPair>& pairs);

}  // namespace deadheat::analysis
