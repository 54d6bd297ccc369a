// The failing schedule as a story in two columns: what the two threads did last before they met,
// the meeting, and what came after.
#pragma once

#include "lib/model/evidence.h"
#include "lib/schedule/trial.h"

namespace deadheat::schedule {

// Fills evidence.steps from the trial's log of decisions. Nothing without a log, or where the
// log does not show the race.
void tell_story(const TrialResult& trial, model::Evidence& evidence,
                symbols::Symbolizer& symbolizer);

}  // namespace deadheat::schedule
