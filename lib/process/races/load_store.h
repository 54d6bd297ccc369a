// Load-store races (RacePro, section 5.3.1). The paper compares, object by object, the accesses of
// every two tasks. race_conformance_test.cc compares the scan with trying all pairs.
#pragma once

#include "lib/process/races/race_collector.h"

namespace deadheat::process::races {

// Whether the result of two accesses to one object, at least one a store, depends on their
// order.
bool conflict(effects::ObjectKind kind, const effects::Access& one, const effects::Access& other);
// Whether the held file locks exclude that the two run concurrently.
bool under_common_lock(const effects::Model& model, const effects::Node& one,
                       const effects::Node& other);

void find_load_store_races(const effects::Model& model, const Graph& graph, RaceCollector& races);
void find_wait_races(const recording::Recording& recording, const effects::Model& model,
                     const Graph& graph, RaceCollector& races);

}  // namespace deadheat::process::races
