// An analysed recording, with its model, its graph and its races.
#pragma once

#include <memory>
#include <string>

#include "lib/process/races/races.h"
#include "lib/process/recording/recording.h"

namespace deadheat::process::trials {

struct LookedAt {
  recording::Recording recording;
  std::unique_ptr<effects::Model> model;  // the graph refers to it
  std::unique_ptr<races::Graph> graph;
  races::ProcessRaces races;
};

// `all`: including races on terminal output and similar.
Result<LookedAt> look_for_races(const std::string& folder, bool all);

}  // namespace deadheat::process::trials
