// A recording that was looked at: with its model, its graph and its races.
#pragma once

#include <memory>
#include <string>

#include "lib/process/races/races.h"
#include "lib/process/recording.h"

namespace deadheat::process {

struct LookedAt {
  Recording recording;
  std::unique_ptr<Model> model;  // the graph points to it
  std::unique_ptr<Graph> graph;
  ProcessRaces races;
};

// `all`: also races on terminal output and the like.
Result<LookedAt> look_for_races(const std::string& folder, bool all);

}  // namespace deadheat::process
