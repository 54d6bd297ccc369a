#include "lib/model/trials.h"

#include <algorithm>
#include <cmath>

namespace deadheat::model {
namespace {

void count(const Evidence& evidence, TrialCount& out) {
  const bool failed = evidence.consequence.kind != ConsequenceKind::kNone;
  const bool alternate = evidence.order == Order::kAlternate;
  switch (evidence.outcome) {
    case Outcome::kRace:
      ++out.races;
      ++(alternate ? out.alternate : out.primary);
      if (failed) ++(alternate ? out.harmful_alternate : out.harmful_primary);
      return;
    case Outcome::kTimeout:
      ++out.timeouts;
      break;
    case Outcome::kDeadlock:
      ++out.deadlocks;
      break;
    case Outcome::kDivergedInfeasible:
    case Outcome::kDivergedUncontrolled:
      ++out.diverged;
      break;
    default:
      ++out.not_seen;
      break;
  }
  if (failed) ++out.failures_elsewhere;
}

}  // namespace

TrialCount count_trials(const Finding& finding, std::string_view confirmer,
                        std::string_view campaign) {
  TrialCount out;
  for (const Evidence& evidence : finding.evidence) {
    if (!evidence.trial || evidence.trial->confirmer != confirmer || !evidence.withdraws.empty())
      continue;
    const Reproducer& how = evidence.trial->reproducer;
    if (how.kind == ReproducerKind::kNone || (!campaign.empty() && how.campaign != campaign))
      continue;
    ++out.trials;
    count(evidence, out);
    if (!how.strategy.empty()) out.strategies.insert(how.strategy);
  }
  return out;
}

Share share_of(uint64_t hits, uint64_t tries) {
  if (tries == 0) return {};
  constexpr double kZ = 1.96;
  const auto n = static_cast<double>(tries);
  const double p = static_cast<double>(hits) / n;
  const double middle = (p + kZ * kZ / (2 * n)) / (1 + kZ * kZ / n);
  const double width = kZ * std::sqrt(p * (1 - p) / n + kZ * kZ / (4 * n * n)) / (1 + kZ * kZ / n);
  return {p, std::max(0.0, middle - width), std::min(1.0, middle + width)};
}

}  // namespace deadheat::model
