// Collisions as findings: kind collision, with names for places and variables; kind data race where
// debug information shows that one side is plain (nature.h).
//
// An instruction without lock may be atomic in the source, so the evidence leaves the kind of such
// an access unknown unless it is shown: the fold then sees a sighting, not a proved race. The role
// says what was seen.
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

// What the kernel's and a program's watch have in common: numbers, origin, and which changes say
// nothing new. No finding: the collision is not reported.
using MakeFinding = std::function<std::optional<model::Finding>(const Collision&)>;
model::FindingsFile file_of(const std::vector<Collision>& collisions, const WatchIdentity& identity,
                            std::vector<Counter> counters, const MakeFinding& make);

// "race: write in store() race.c:12 and read in load() race.c:20"; nothing if it is not reported.
std::string one_line(Collision collision, const std::vector<LoadedModule>& modules,
                     symbols::Symbolizer& symbolizer);

}  // namespace deadheat::sampler
