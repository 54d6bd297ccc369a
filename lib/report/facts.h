// The sentences of a finding: what is missing, how sure we are, what it does. Used only by
// build_report.
#pragma once

#include "lib/report/report.h"

namespace deadheat::report {

// `shown` is shown_kind() of the finding.
std::string title_of(const model::Candidate& candidate, model::CandidateKind shown,
                     const model::Evidence* example);
// Fills why, locks, sureness, dependence, effect, repeat, silence. Needs verdict and places.
void phrase_facts(Entry& entry, const model::Evidence* example);

std::string plural(uint64_t count, const std::string& noun);  // "1 event", "1,204 events"

}  // namespace deadheat::report
