// What a trial says about the candidate that it was directed at, as evidence in the candidate's own
// numbering of roles; and the races that are no race of that candidate (both threads at the same
// side), which are findings of their own.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "lib/model/finding.h"
#include "lib/schedule/trial.h"

namespace deadheat::schedule {

struct Attached {
  model::Evidence evidence;            // of the candidate; id and repeat are the caller's
  std::vector<model::Finding> others;  // races of other pairs of sites
  bool only_atomic = false;  // both sides were atomic: nothing that a data race could rest on
};

Attached attach(const TrialResult& trial, const TrialRequest& request,
                const model::Candidate& candidate, const model::Consequence& consequence);

}  // namespace deadheat::schedule
