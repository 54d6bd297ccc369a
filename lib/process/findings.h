// Process races as findings: candidates with their sites, and what the branches showed as evidence.
#pragma once

#include "lib/model/finding.h"
#include "lib/process/races/races.h"
#include "lib/process/validate.h"

namespace deadheat::process {

model::Finding to_finding(const Recording& recording, const Model& model, const ProcessRace& race);
// The finding's evidence of one branch; `execution` names the recording.
model::Evidence to_evidence(const Recording& recording, const Model& model, const ProcessRace& race,
                            const BranchResult& result, const std::string& execution);

}  // namespace deadheat::process
