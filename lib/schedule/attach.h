// Converts a trial's result to evidence for the candidate that it was directed at, with the
// candidate's numbering of roles. Other races (both threads at the same side, for example) become
// separate findings.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "lib/model/finding.h"
#include "lib/schedule/trial.h"

namespace deadheat::schedule {

struct Attached {
  model::Evidence evidence;            // for the candidate; the caller sets id and repeat
  std::vector<model::Finding> others;  // races of other pairs of sites
  bool only_atomic = false;            // both sides were atomic: no basis for a data race
};

Attached attach(const TrialResult& trial, const TrialRequest& request,
                const model::Candidate& candidate, const model::Consequence& consequence);

}  // namespace deadheat::schedule
