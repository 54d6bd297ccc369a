// The naive twin of every engine: a graph over all events with the edges of the definitions,
// reachability by bit sets, and a double loop over all pairs of accesses. Slow and obvious; no
// clocks, no shadow.
#pragma once

#include <set>
#include <utility>

#include "lib/analysis/engine.h"
#include "lib/analysis/memory_source.h"

namespace deadheat::analysis {

using SitePairs = std::set<std::pair<trace::SiteId, trace::SiteId>>;  // smaller site first

struct TwinResult {
  SitePairs racy;
  SitePairs schedulable;  // of the racy ones (happens-before and rdit)
};

TwinResult naive_twin(const Trace& trace, const Options& options);
SitePairs pairs_of(const Report& report);
SitePairs schedulable_of(const Report& report);

}  // namespace deadheat::analysis
