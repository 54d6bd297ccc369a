// Load-store races (RacePro, section 5.3.1). The paper compares, object by object, the accesses of
// every two tasks. race_conformance_test.cc holds the scan equal to trying all pairs.
#pragma once

#include "lib/process/races/race_collector.h"

namespace deadheat::process {

// Whether two accesses to one object, of which one at least is a store, would show in which order
// they came.
bool conflict(ObjectKind kind, const Access& one, const Access& other);
// Whether the file locks held exclude that the two run at a time.
bool under_common_lock(const Model& model, const Node& one, const Node& other);

void find_load_store_races(const Model& model, const Graph& graph, RaceCollector& races);
void find_wait_races(const Recording& recording, const Model& model, const Graph& graph,
                     RaceCollector& races);

}  // namespace deadheat::process
