// Failures that no race explains: trials that end unlike any undisturbed run, without a race, are
// findings of their own kind (model::CandidateKind::kFailure), grouped by how and where the program
// failed. Each lists the trials that showed it, so that they can be repeated.
#pragma once

#include <optional>
#include <string>

#include "lib/model/finding.h"
#include "lib/schedule/trial.h"

namespace deadheat::schedule {

// The failure shown by the trial; nothing if it ended normally or had a race (to which the failure
// then belongs). The caller sets execution and the repeating command.
std::optional<model::Finding> failure_of(const TrialResult& trial, const model::Evidence& evidence,
                                         const std::string& program);

// Removes failures that a race turned out to explain: it was made to happen in an execution that
// failed in the same way.
void drop_explained(model::FindingsFile& file);

}  // namespace deadheat::schedule
