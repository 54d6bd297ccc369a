#include "lib/process/races/tighter_race.h"

#include <tuple>

namespace deadheat::process {
namespace {

// Whether x before y, where y was recorded first, contains the flip of the race.
bool contains(const Graph& graph, uint32_t x, uint32_t y, const ProcessRace& race) {
  if (race.kind != model::CandidateKind::kLoadStore) return false;
  const uint32_t first = race.anchors[0], second = race.anchors[1];
  if (first == y && second == x) return false;
  return (first == y || graph.before(y, first)) && (second == x || graph.before(second, x));
}

bool contains(const Graph& graph, const Branch& branch, const ProcessRace& race) {
  for (size_t i = 0; i < branch.order.size(); i++)
    for (size_t j = i + 1; j < branch.order.size(); j++)
      if (branch.order[j] < branch.order[i] &&
          contains(graph, branch.order[i], branch.order[j], race))
        return true;
  return false;
}

}  // namespace

std::optional<uint32_t> tighter_race(const Graph& graph, const ProcessRaces& races,
                                     const Branch& branch,
                                     const std::function<bool(uint32_t)>& happens) {
  std::optional<uint32_t> best;
  const auto worth = [&](uint32_t race) {
    return std::tuple(!happens(race), races.races[race].distance, race);
  };
  for (uint32_t race = 0; race < races.races.size(); race++) {
    if (race == branch.race || !contains(graph, branch, races.races[race])) continue;
    if (!best || worth(race) < worth(*best)) best = race;
  }
  return best;
}

}  // namespace deadheat::process
