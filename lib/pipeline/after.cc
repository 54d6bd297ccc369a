#include "lib/pipeline/after.h"

#include <algorithm>

#include "lib/base/text.h"
#include "lib/schedule/campaign.h"

namespace deadheat::pipeline {
namespace {

// A trial directed at it failed, and is repeatable.
bool is_named_by_a_failure(const model::Finding& finding, const model::FindingsFile& file) {
  const std::string key = schedule::candidate_key(finding.candidate);
  return std::any_of(file.findings.begin(), file.findings.end(), [&](const model::Finding& one) {
    return one.candidate.kind == model::CandidateKind::kFailure &&
           std::any_of(one.evidence.begin(), one.evidence.end(), [&](const model::Evidence& e) {
             return e.trial && e.trial->reproducer.candidate == key;
           });
  });
}

}  // namespace

void count_not_done(Found& found) {
  if (found.file.origins.empty()) return;
  Counters& counters = found.file.origins.back().counters;
  if (!found.not_done.empty())
    counters.push_back({"search_not_done", found.not_done.size(),
                        "steps of the search left out: " + join(found.not_done, ", "), true, true});
  if (found.stopped)
    counters.push_back({"not_decided", found.file.findings.size(),
                        "candidates were not tried: stopped", true, true});
}

void drop_harmless_orders(model::FindingsFile& file) {
  const auto is_harmless = [&](const model::Finding& finding) {
    return finding.candidate.kind == model::CandidateKind::kOrder &&
           model::fold(finding).state != model::VerdictState::kTrueRace &&
           !is_named_by_a_failure(finding, file);
  };
  std::vector<model::Finding> kept;
  for (const model::Finding& finding : file.findings)
    if (!is_harmless(finding)) kept.push_back(finding);
  const size_t harmless = file.findings.size() - kept.size();
  file.findings = std::move(kept);
  file.origins.back().counters.push_back(
      {"orders_without_failure", harmless,
       "pairs of locks or atomics were tried in both orders, or could not be, without failure",
       false});
}

}  // namespace deadheat::pipeline
