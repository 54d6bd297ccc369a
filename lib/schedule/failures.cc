#include "lib/schedule/failures.h"

#include <algorithm>
#include <vector>

namespace deadheat::schedule {
namespace {

using model::Consequence;
using model::ConsequenceKind;

// Different output is not an abnormal end, and status 0 is not a failure.
bool ends_abnormally(const Consequence& consequence, const confirm::ChildResult& child) {
  if (consequence.kind == ConsequenceKind::kExitStatus) return child.status != 0;
  return consequence.kind > ConsequenceKind::kExitStatus;
}

// How it failed, as part of the failure's identity: without the place and without what differs
// between trials.
std::string how(const Consequence& consequence) {
  const std::string& detail = consequence.detail;
  switch (consequence.kind) {
    case ConsequenceKind::kExitStatus:
      return detail.substr(0, detail.find(" instead of"));
    case ConsequenceKind::kAssertion:
      return detail.substr(0, detail.rfind(" ("));
    case ConsequenceKind::kException:
      return detail;
    case ConsequenceKind::kCrash:
      return detail.substr(0, detail.find(" in "));
    case ConsequenceKind::kHang:
      return "hang";
    case ConsequenceKind::kDeadlock:
      return "deadlock";
    case ConsequenceKind::kCheckerFailed:
      return "checker failed: " + detail;
    default:
      return "failure";
  }
}

bool same_failure(const Consequence& a, const Consequence& b) {
  if (a.kind != b.kind) return false;
  // The list of waiting threads is worded differently each time.
  return a.kind == ConsequenceKind::kHang || a.kind == ConsequenceKind::kDeadlock ||
         a.detail == b.detail;
}

bool explains(const model::Finding& race, const Consequence& failure) {
  return race.candidate.kind != model::CandidateKind::kFailure &&
         std::any_of(race.evidence.begin(), race.evidence.end(), [&](const model::Evidence& e) {
           const bool happened =
               e.outcome == model::Outcome::kRace || e.proof == model::Proof::kFailedBranch;
           return happened && same_failure(e.consequence, failure);
         });
}

}  // namespace

std::optional<model::Finding> failure_of(const TrialResult& trial, const model::Evidence& evidence,
                                         const std::string& program) {
  const bool raced = std::any_of(
      trial.races.findings.begin(), trial.races.findings.end(),
      [](const auto& race) { return race.candidate.kind != model::CandidateKind::kOrder; });
  if (raced || evidence.outcome == model::Outcome::kRace ||
      evidence.proof == model::Proof::kFailedBranch ||  // an order that failed
      !ends_abnormally(evidence.consequence, trial.seen.child))
    return std::nullopt;
  model::Finding out;
  out.candidate.kind = model::CandidateKind::kFailure;
  out.candidate.found_by = {"schedule"};
  model::Role role;
  role.name = how(evidence.consequence);
  if (trial.crash.stack.empty()) {
    role.site.kind = model::SiteKind::kLabel;
    role.site.module = program;
    role.site.label = role.name;
  } else {
    role.site = trial.crash_site;
  }
  out.candidate.roles = {std::move(role)};
  model::Evidence shown;
  shown.source = "schedule";
  shown.outcome = model::Outcome::kRace;
  shown.proof = model::Proof::kFailedBranch;
  shown.consequence = evidence.consequence;
  shown.trial = evidence.trial;
  if (!trial.crash.stack.empty()) shown.accesses = {trial.crash};
  out.evidence = {std::move(shown)};
  return out;
}

void drop_explained(model::FindingsFile& file) {
  const auto is_explained = [&](const model::Finding& finding) {
    if (finding.candidate.kind != model::CandidateKind::kFailure) return false;
    return std::all_of(finding.evidence.begin(), finding.evidence.end(), [&](const auto& e) {
      return std::any_of(file.findings.begin(), file.findings.end(),
                         [&](const model::Finding& race) { return explains(race, e.consequence); });
    });
  };
  std::vector<model::Finding> kept;
  for (const model::Finding& finding : file.findings)
    if (!is_explained(finding)) kept.push_back(finding);
  file.findings = std::move(kept);
}

}  // namespace deadheat::schedule
