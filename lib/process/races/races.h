// The happens-before graph and the races of a recording (RacePro, sections 5.1 and 5.3).
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "lib/model/candidate.h"
#include "lib/process/effects/model.h"

namespace deadheat::process::races {

// Vector clocks of the nodes. A node without incoming edges has its predecessor's clock with its
// own component incremented, so clocks are stored only where an edge enters; and they consist of
// chunks that clocks share, since an edge brings news of few tasks. race_conformance_test.cc
// compares this with plain clocks and with reachability.
class Graph {
 public:
  explicit Graph(const effects::Model& model);
  bool before(uint32_t first, uint32_t second) const {  // first happens-before second
    const effects::Node& one = model_->nodes[first];
    const effects::Node& other = model_->nodes[second];
    if (one.task == other.task) return one.position < other.position;
    return component(second, one.task) >= one.position;
  }
  bool concurrent(uint32_t one, uint32_t other) const {
    return one != other && !before(one, other) && !before(other, one);
  }
  // Per task, how many of its nodes happen before this one or are it: the paper's clock.
  std::vector<uint32_t> clock(uint32_t node) const;

 private:
  static constexpr uint32_t kChunk = 32;
  using Chunk = std::array<uint32_t, kChunk>;

  uint32_t component(uint32_t node, uint32_t task) const {
    const size_t at = size_t{clock_of_[node]} * width_ + task / kChunk;
    return chunks_[clocks_[at]][task % kChunk];
  }
  void merge(std::vector<uint32_t>& clock, uint32_t from, uint32_t owned_from);

  const effects::Model* model_;
  uint32_t width_ = 0;            // chunks per clock
  std::vector<Chunk> chunks_;     // [0] is all zeros
  std::vector<uint32_t> clocks_;  // width_ chunk indices each; [0] is the empty clock
  std::vector<uint32_t>
      clock_of_;  // node -> clock; its own component is the node's position instead
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
  uint32_t examples = 3;       // kept per code path, the nearest
  bool quiet_objects = false;  // include terminal output and similar
  uint64_t most = 100000;      // races kept; further ones are counted
};

struct ProcessRaces {
  std::vector<ProcessRace> races;  // by rank
  uint64_t pairs = 0;              // racing pairs considered, before deduplication
  uint64_t skipped_quiet = 0;      // on quiet objects
  uint64_t under_lock = 0;         // both sides under one file lock
  uint64_t dropped = 0;            // more than `most`
  uint64_t unscanned = 0;  // pairs of accesses beyond the limit per object: races of the same code
                           // paths, farther apart
};

ProcessRaces find_races(const recording::Recording& recording, const effects::Model& model,
                        const Graph& graph, const RaceOptions& options);

}  // namespace deadheat::process::races
