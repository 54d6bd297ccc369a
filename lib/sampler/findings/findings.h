// Converts collisions to findings: kind collision, with names for places and variables; kind data
// race if debug information shows that one side is plain (nature.h).
//
// An instruction without a lock prefix may be atomic in the source, so the evidence leaves the kind
// of such an access unknown unless it is shown: the fold then sees a sighting, not a proved race.
// The role records what was seen.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "lib/model/finding.h"
#include "lib/sampler/session/session.h"
#include "lib/symbols/symbolizer.h"

namespace deadheat::sampler {

struct WatchIdentity {
  std::string execution;
  std::vector<std::string> arguments;  // of the verb
  std::string input;                   // program or process
  std::string repeat;
};

model::FindingsFile to_findings(const SessionResult& result, const WatchIdentity& identity);

// Shared by the watches of the kernel and of programs: numbering, origin, and omitting changes that
// add nothing. No finding: the collision is not reported.
using MakeFinding = std::function<std::optional<model::Finding>(const Collision&)>;
model::FindingsFile file_of(const std::vector<Collision>& collisions, const WatchIdentity& identity,
                            std::vector<Counter> counters, const MakeFinding& make);

// And what both make of one collision: two roles, their accesses, and the order. `describe` says
// what a side is; `why` tells it in words.
struct DescribedSide {
  model::Site site;
  model::Access access;
};
using DescribeSide = std::function<DescribedSide(const Side&)>;
model::Finding finding_of(const Collision& collision, const DescribeSide& describe,
                          std::string why);
model::AccessKind kind_of(const Side& side);

// "race: write in store() race.c:12 and read in load() race.c:20"; nothing if it is not reported.
std::string one_line(Collision collision, const std::vector<LoadedModule>& modules,
                     symbols::Symbolizer& symbolizer);

}  // namespace deadheat::sampler
