// Collects races, keeps the nearest of each code path, and ranks the rest.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "lib/process/races/races.h"

namespace deadheat::process::races {

class RaceCollector {
 public:
  RaceCollector(const recording::Recording& recording, const effects::Model& model,
                const RaceOptions& options);

  // anchors as in ProcessRace.
  void add(model::CandidateKind kind, std::initializer_list<uint32_t> anchors, uint32_t object);
  void count_unscanned(uint64_t pairs) { found_.unscanned += pairs; }
  void count_under_lock() { found_.under_lock++; }
  ProcessRaces take();

  // What a node does, ignoring the object: program and call.
  uint64_t path_of(uint32_t node) const;
  uint32_t distance(uint32_t one, uint32_t other) const;

 private:
  struct Group {
    std::vector<ProcessRace> nearest;
    uint32_t others = 0;
  };

  uint64_t normal_name(uint32_t object);
  uint64_t subject_of(uint32_t node);
  uint64_t part_of(uint32_t node, uint32_t object) const;
  double weight(const ProcessRace& race) const;

  const recording::Recording& recording_;
  const effects::Model& model_;
  const RaceOptions& options_;
  std::vector<uint64_t> names_;  // normalised, as hashes; 0: not computed
  std::unordered_map<uint64_t, Group> groups_;
  ProcessRaces found_;
};

// "/tmp/cc12Ab34.s" -> "/tmp/*.s", "/proc/12" -> "/proc/#": removes what differs between two runs
// of one program.
std::string normalise_name(const std::string& name);

}  // namespace deadheat::process::races
