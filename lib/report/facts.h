// The sentences of a finding: what is missing, how sure we are, what it does. Used by build_report
// only.
#pragma once

#include "lib/report/report.h"

namespace deadheat::report {

// The evidence that a finding is shown with: a race rather than not, with steps, with accesses;
// never withdrawn evidence. Null when there is none.
const model::Evidence* best_example(const model::Finding& finding);

std::string title_of(const model::Candidate& candidate, const model::Evidence* example);
// Fills why, locks, sureness, dependence, effect, repeat, silence. Needs verdict and places.
void phrase_facts(Entry& entry, const model::Evidence* example);

std::string plural(uint64_t count, const std::string& noun);  // "1 event", "1,204 events"

}  // namespace deadheat::report
