// Process races as findings: candidates with their sites, and the branches' results as evidence.
#pragma once

#include "lib/model/finding.h"
#include "lib/process/races/races.h"
#include "lib/process/trials/validate.h"

namespace deadheat::process::findings {

// Harmful orders with the same consequences have one cause: the nearest represents all.
struct Cause {
  size_t result = 0;  // index in Validation::results
  size_t others = 0;
};
std::vector<Cause> causes_of(const trials::Validation& validation);

model::Finding to_finding(const recording::Recording& recording, const effects::Model& model,
                          const races::ProcessRace& race, const trials::DrawnNames& drawn);
// The finding's evidence from one branch whose recording still exists. `execution` names the user's
// recording; `others` is the number of other orders with the same consequences.
model::Evidence to_evidence(const trials::Validation& validation, size_t result,
                            const std::string& execution, size_t others);

}  // namespace deadheat::process::findings
