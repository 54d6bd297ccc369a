// Failures that no race explains: trials that end as no undisturbed run does, without having met a
// race, are findings of their own kind (model::CandidateKind::kFailure), grouped by how and where
// the program failed. Each names the trials that showed it, so that they can be repeated.
#pragma once

#include <optional>
#include <string>

#include "lib/model/finding.h"
#include "lib/schedule/trial.h"

namespace deadheat::schedule {

// What the trial says of a failure; nothing if it did not end abnormally, or met a race (then the
// failure is that race's). Execution and the command that repeats are the caller's.
std::optional<model::Finding> failure_of(const TrialResult& trial, const model::Evidence& evidence,
                                         const std::string& program);

// Removes the failures that a race turned out to explain: it was made to happen in an execution
// that failed in the same way.
void drop_explained(model::FindingsFile& file);

}  // namespace deadheat::schedule
