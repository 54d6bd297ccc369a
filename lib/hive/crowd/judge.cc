#include "lib/hive/crowd/judge.h"

#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <vector>

#include "lib/base/text.h"
#include "lib/hive/crowd/claim.h"

namespace deadheat::hive::crowd {
namespace {

using model::Evidence;
using model::Proof;
using model::VerdictState;

bool says_unordered(Proof proof) {
  return proof == Proof::kHappensBefore || proof == Proof::kCoEnabled || proof == Proof::kCollision;
}

Evidence as_claim(Evidence e, const std::string& credential, const Rules& rules) {
  make_claim(e);
  e.source = credential;
  e.execution = credential + "/" + std::to_string(execution_slot(e.execution, rules));
  e.repetitions = 1;  // and so is the number of its runs
  return e;
}

constexpr double kRuleOfThree = 3;  // -ln(0.05): 95% confidence

double weight_of(const Evidence& e, model::CandidateKind kind, bool promoted, const Rules& rules) {
  if (model::fold(std::span(&e, 1), kind).state != VerdictState::kLikelyFalsePositive) return 0;
  if (e.ordered == model::Ordered::kYes || e.outcome == model::Outcome::kDivergedInfeasible)
    return 1;
  return promoted && e.outcome == model::Outcome::kNoRace ? rules.weak_promoted : rules.weak;
}

// The evidence of one credential against the race, in executions.
double weight_of_one(std::span<const Evidence> its, model::CandidateKind kind, bool trusted,
                     bool promoted, const Rules& rules) {
  std::set<std::string_view> withdrawn;
  for (const Evidence& e : its)
    if (!e.withdraws.empty()) withdrawn.insert(e.withdraws);
  std::map<std::string_view, double> executions;  // each by the strongest that it showed
  for (const Evidence& e : its) {
    if (!e.withdraws.empty() || withdrawn.contains(e.id)) continue;
    double& weight = executions[e.execution];
    weight = std::max(weight, weight_of(e, kind, promoted, rules));
  }
  std::vector<double> weights;
  for (const auto& [execution, weight] : executions) weights.push_back(weight);
  std::sort(weights.begin(), weights.end(), std::greater<>());
  double sum = 0;
  for (size_t i = 0; i < weights.size(); ++i)
    sum += weights[i] * (i == 0 || trusted ? 1 : rules.repeated);
  return sum;
}

}  // namespace

void make_claim(Evidence& evidence) {
  if (model::basis_of(evidence.proof) <= model::Basis::kClaimed) return;
  if (evidence.ordered == model::Ordered::kUnknown && says_unordered(evidence.proof))
    evidence.ordered = model::Ordered::kNo;
  evidence.proof = Proof::kAgentClaim;
}

uint32_t execution_slot(std::string_view execution, const Rules& rules) {
  return static_cast<uint32_t>(stable_hash(execution) % rules.executions_of_one);
}

Judgement judge(std::span<const Said> said, model::CandidateKind kind, bool promoted,
                const Rules& rules) {
  std::vector<const Said*> sorted;
  sorted.reserve(said.size());
  for (const Said& one : said) sorted.push_back(&one);
  // By credential, in the order in which they came.
  std::sort(sorted.begin(), sorted.end(), [](const Said* a, const Said* b) {
    return a->credential != b->credential ? a->credential < b->credential : a < b;
  });
  std::vector<Evidence> all;
  all.reserve(said.size());
  for (const Said* one : sorted) {
    Evidence e = one->trusted ? one->evidence : as_claim(one->evidence, one->credential, rules);
    // Ids are unique for their credential only.
    e.id = one->credential + "/" + e.id;
    if (!e.withdraws.empty()) e.withdraws = one->credential + "/" + e.withdraws;
    all.push_back(std::move(e));
  }
  Judgement judgement;
  bool trusted_against = false;
  for (size_t from = 0, to = 0; from < sorted.size(); from = to) {
    while (to < sorted.size() && sorted[to]->credential == sorted[from]->credential) ++to;
    const std::span<const Evidence> its(all.data() + from, to - from);
    const VerdictState state = model::fold(its, kind).state;
    const bool trusted = sorted[from]->trusted;
    if (state == VerdictState::kTrueRace && !trusted) ++judgement.claimed_by;
    if (state != VerdictState::kLikelyFalsePositive) continue;
    ++judgement.against;
    judgement.weight += weight_of_one(its, kind, trusted, promoted, rules);
    trusted_against |= trusted;
  }
  judgement.verdict = model::fold(all, kind);
  model::Verdict& verdict = judgement.verdict;
  judgement.proved =
      verdict.state == VerdictState::kTrueRace && verdict.basis > model::Basis::kClaimed;
  if (verdict.state != VerdictState::kLikelyFalsePositive) return judgement;
  verdict.confidence = judgement.weight > kRuleOfThree ? 1 - kRuleOfThree / judgement.weight : 0;
  const bool enough =
      judgement.against >= rules.against && verdict.confidence >= rules.least_confidence;
  if (!enough && !trusted_against) {
    verdict.state = VerdictState::kUnknown;
    verdict.confidence = 0;
  }
  return judgement;
}

}  // namespace deadheat::hive::crowd
