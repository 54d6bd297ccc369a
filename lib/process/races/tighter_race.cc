#include "lib/process/races/tighter_race.h"

#include <tuple>

namespace deadheat::process::races {
namespace {

// Whether ordering x before y, where y was recorded first, also orders `second` before `first`.
bool contains(const Graph& graph, uint32_t x, uint32_t y, uint32_t first, uint32_t second) {
  if (first == y && second == x) return false;
  return (first == y || graph.before(y, first)) && (second == x || graph.before(second, x));
}

bool contains(const Graph& graph, const Branch& branch, uint32_t first, uint32_t second) {
  for (size_t i = 0; i < branch.order.size(); i++)
    for (size_t j = i + 1; j < branch.order.size(); j++)
      if (branch.order[j] < branch.order[i] &&
          contains(graph, branch.order[i], branch.order[j], first, second))
        return true;
  return false;
}

bool contains(const Graph& graph, const Branch& branch, const ProcessRace& race) {
  return race.kind == model::CandidateKind::kLoadStore &&
         contains(graph, branch, race.anchors[0], race.anchors[1]);
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

std::optional<LedAway> led_away(const effects::Model& model, const Graph& graph,
                                const Branch& branch, const std::vector<uint32_t>& otherwise) {
  std::optional<LedAway> best;
  for (const uint32_t node : otherwise) {
    const effects::Node& later = model.nodes[node];
    for (const effects::Access& store : model.accesses) {
      if (!store.store || store.node >= node || model.nodes[store.node].task == later.task)
        continue;
      for (uint32_t i = 0; i < later.accesses; i++) {
        const effects::Access& load = model.accesses[later.first_access + i];
        if (load.object != store.object || load.begin >= store.end || store.begin >= load.end ||
            !contains(graph, branch, store.node, node))
          continue;
        best = LedAway{store.node, node, load.object};
        // What a shell's waits find changes in most branches, but rarely its behaviour.
        const effects::ObjectKind kind = model.objects[load.object].kind;
        if (kind != effects::ObjectKind::kChild && kind != effects::ObjectKind::kProcess)
          return best;
      }
    }
  }
  return best;
}

}  // namespace deadheat::process::races
