// Load-store races (RacePro, section 5.3.1). The paper compares, object by object, the accesses of
// every two tasks. race_conformance_test.cc holds the scan equal to trying all pairs.
#pragma once

#include "lib/process/races/race_collector.h"

namespace deadheat::process::races {

// Whether two accesses to one object, of which one at least is a store, would show in which order
// they came.
bool conflict(effects::ObjectKind kind, const effects::Access& one, const effects::Access& other);
// Whether the file locks held exclude that the two run at a time.
bool under_common_lock(const effects::Model& model, const effects::Node& one,
                       const effects::Node& other);

void find_load_store_races(const effects::Model& model, const Graph& graph, RaceCollector& races);
void find_wait_races(const recording::Recording& recording, const effects::Model& model,
                     const Graph& graph, RaceCollector& races);

}  // namespace deadheat::process::races
