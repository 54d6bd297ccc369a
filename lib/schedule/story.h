// The failing schedule as a story in two columns: the last actions of the two threads before they
// met, the meeting, and what followed.
#pragma once

#include "lib/model/evidence.h"
#include "lib/schedule/trial.h"

namespace deadheat::schedule {

// Fills evidence.steps from the trial's decision log. Empty without a log, or if the log does not
// show the race.
void tell_story(const TrialResult& trial, model::Evidence& evidence,
                symbols::Symbolizer& symbolizer);

}  // namespace deadheat::schedule
