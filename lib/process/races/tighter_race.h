// Explains why a branch cannot happen: a tighter race (RacePro, section 6.2, "Replay Divergence").
//
// Ordering x before y orders everything that x needs before everything that needs y. If q comes
// before x and p after y, and p and q race too, then the flip of (y, x) contains that of (p, q): a
// task that waits for p at q can never reach x before y.
#pragma once

#include <functional>
#include <optional>

#include "lib/process/races/branch.h"

namespace deadheat::process::races {

// The index of the nearest race that the branch contains, preferring one that `happens` in the
// other order; none if it contains no other race.
std::optional<uint32_t> tighter_race(const Graph& graph, const ProcessRaces& races,
                                     const Branch& branch,
                                     const std::function<bool(uint32_t)>& happens);

// Two calls of a tighter race: in the branch, `later` came first and saw a different value.
struct LedAway {
  uint32_t earlier = 0, later = 0, object = 0;
};
// What diverted a branch's anchor, if known: among the nodes whose calls returned something
// else than recorded, one that the branch moved before a store that it saw in the
// recording.
std::optional<LedAway> led_away(const effects::Model& model, const Graph& graph,
                                const Branch& branch, const std::vector<uint32_t>& otherwise);

}  // namespace deadheat::process::races
