// The happens-before graph and the races of a recording (RacePro, sections 5.1 and 5.3).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "lib/model/candidate.h"
#include "lib/process/model.h"

namespace deadheat::process {

// Vector clocks of the nodes. A node that no edge enters has its predecessor's clock with its own
// component one higher, so whole clocks are kept only where an edge enters.
class Graph {
 public:
  explicit Graph(const Model& model);
  bool before(uint32_t first, uint32_t second) const;  // first happens-before second
  bool concurrent(uint32_t one, uint32_t other) const {
    return one != other && !before(one, other) && !before(other, one);
  }
  // Per task, how many of its nodes happen before or are this one: the paper's clock.
  std::vector<uint32_t> clock(uint32_t node) const;

 private:
  const Model* model_;
  std::vector<std::vector<uint32_t>> clocks_;  // of the nodes that edges enter
  std::vector<uint32_t> clock_of_;             // node -> index in clocks_
};

struct ProcessRace {
  model::CandidateKind kind = model::CandidateKind::kLoadStore;
  std::vector<uint32_t>
      anchors;  // nodes in recorded order. Load-store: two. Wait-wakeups: the wait, the wake-up
                // that it got, another. Wakeup-waits: the wake-up, the wait that got it, another.
  uint32_t object = 0;      // what they have in common
  uint32_t distance = 0;    // in the graph; nearer ones come first
  uint32_t duplicates = 0;  // others of the same code path
  double rank = 0;          // lower comes first
};

struct RaceOptions {
  bool quiet_objects = false;  // terminal output and the like too
  uint64_t most = 100000;      // races kept; more are counted
};

struct ProcessRaces {
  std::vector<ProcessRace> races;  // by rank
  uint64_t pairs = 0;              // racing pairs before deduplication
  uint64_t skipped_quiet = 0, dropped = 0, under_lock = 0;
};

ProcessRaces find_races(const Recording& recording, const Model& model, const Graph& graph,
                        const RaceOptions& options);

}  // namespace deadheat::process
