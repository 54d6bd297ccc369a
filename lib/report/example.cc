#include "lib/report/example.h"

#include <algorithm>

namespace deadheat::report {

using model::Evidence;
using model::Outcome;
using model::Schedulable;

namespace {

// Prefers a race, then evidence with steps, then with accesses; never withdrawn evidence.
const Evidence* best_evidence(const model::Finding& finding) {
  const Evidence* best = nullptr;
  int best_score = -1;
  for (const Evidence& evidence : finding.evidence) {
    if (!evidence.withdraws.empty()) continue;
    const bool withdrawn =
        std::any_of(finding.evidence.begin(), finding.evidence.end(), [&](const Evidence& other) {
          return !other.withdraws.empty() && other.withdraws == evidence.id;
        });
    if (withdrawn) continue;
    int score = 0;
    if (evidence.outcome == Outcome::kRace) score += 32;
    if (evidence.consequence.kind != model::ConsequenceKind::kNone) score += 16;
    if (!evidence.steps.empty()) score += 8;
    if (!evidence.accesses.empty()) score += 4;
    if (!evidence.repeat.empty()) score += 2;
    if (evidence.schedulable == Schedulable::kYes) score += 1;
    if (score > best_score || (score == best_score && evidence.id < best->id)) {
      best = &evidence;
      best_score = score;
    }
  }
  return best;
}

// Prefers one with a picture, then the smallest id.
const model::Suspicion* best_suspicion(const model::Finding& finding) {
  const model::Suspicion* best = nullptr;
  for (const model::Suspicion& one : finding.suspicions) {
    const bool more = best != nullptr && !one.steps.empty() && best->steps.empty();
    const bool like = best != nullptr && one.steps.empty() == best->steps.empty();
    if (best == nullptr || more || (like && one.id < best->id)) best = &one;
  }
  return best;
}

}  // namespace

const Evidence* Example::find(const model::Finding& finding) {
  const Evidence* evidence = best_evidence(finding);
  const bool tells =
      evidence != nullptr && (evidence->outcome == Outcome::kRace || !evidence->accesses.empty());
  const model::Suspicion* suspicion = best_suspicion(finding);
  if (tells || suspicion == nullptr) return evidence;
  suspected_ = {};
  suspected_.outcome = Outcome::kNotSeen;
  suspected_.source = suspicion->finder;
  suspected_.accesses = suspicion->accesses;
  suspected_.steps = suspicion->steps;
  suspected_.why = suspicion->why;
  suspected_.repeat = suspicion->repeat;
  suspected_.schedulable = suspicion->schedulable;
  return &suspected_;
}

}  // namespace deadheat::report
