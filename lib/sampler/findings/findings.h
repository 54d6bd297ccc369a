// Converts collisions to findings: kind collision, with names for places and variables; kind data
// race if debug information shows that one side is plain (nature.h).
//
// An instruction without a lock prefix may be atomic in the source, so the evidence leaves the kind
// of such an access unknown unless it is shown: the fold then sees a sighting, not a proved race.
// The role records what was seen.
#pragma once

#include <string>
#include <vector>

#include "lib/model/finding.h"
#include "lib/sampler/findings/naming.h"
#include "lib/sampler/session/watch.h"
#include "lib/symbols/symbolizer.h"

namespace deadheat::sampler {

struct WatchIdentity {
  std::string execution;
  std::vector<std::string> arguments;  // of the verb
  std::string input;                   // program or process
  std::string repeat;
};

// A new name for this execution, and the command that repeats it: `words` of the verb, the options
// of every watch, then `target`.
WatchIdentity make_identity(const std::vector<std::string>& words, const WatchOptions& options,
                            const std::string& candidates, const std::vector<std::string>& target,
                            std::string input);

// Of a program's watch, and of any.
model::FindingsFile to_findings(const SessionResult& result, const WatchIdentity& identity);
model::FindingsFile to_findings(const SessionResult& result, Naming& names,
                                const WatchIdentity& identity);

model::AccessKind kind_of(const Side& side);

// "race: write in store() race.c:12 and read in load() race.c:20"; nothing if it is not reported.
std::string one_line(Collision collision, const std::vector<LoadedModule>& modules,
                     symbols::Symbolizer& symbolizer);

}  // namespace deadheat::sampler
