// Why a branch cannot happen: a tighter race (RacePro, section 6.2, "Replay Divergence").
//
// To put x before y puts everything that x needs before everything that needs y. If q comes before
// x and p after y, and p and q race too, then the flip of (y, x) contains that of (p, q): whoever
// waits for p at q can never reach x before y.
#pragma once

#include <functional>
#include <optional>

#include "lib/process/races/branch.h"

namespace deadheat::process::races {

// The index of the nearest race that the branch contains, one that `happens` in the other order
// before one that does not; none if it contains no other.
std::optional<uint32_t> tighter_race(const Graph& graph, const ProcessRaces& races,
                                     const Branch& branch,
                                     const std::function<bool(uint32_t)>& happens);

// Two calls of a tighter race: in the branch, `later` came first, and saw something else.
struct LedAway {
  uint32_t earlier = 0, later = 0, object = 0;
};
// What sent a branch's anchor another way, if that is known: of the nodes whose calls returned
// something else than recorded, one that the branch put before a store which it saw in the
// recording.
std::optional<LedAway> led_away(const effects::Model& model, const Graph& graph,
                                const Branch& branch, const std::vector<uint32_t>& otherwise);

}  // namespace deadheat::process::races
