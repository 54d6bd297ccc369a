#include "lib/hive/crowd/judge.h"

#include <map>

#include "lib/base/text.h"

namespace deadheat::hive::crowd {
namespace {

using model::Evidence;
using model::Proof;
using model::VerdictState;

bool says_unordered(Proof proof) {
  return proof == Proof::kHappensBefore || proof == Proof::kCoEnabled || proof == Proof::kCollision;
}

// An agent's proof is a claim. What the proof implied about order is said outright, because a claim
// implies nothing.
Evidence as_claim(Evidence e, const std::string& credential, const Rules& rules) {
  if (model::basis_of(e.proof) > model::Basis::kClaimed) {
    if (e.ordered == model::Ordered::kUnknown && says_unordered(e.proof))
      e.ordered = model::Ordered::kNo;
    e.proof = Proof::kAgentClaim;
  }
  e.source = credential;
  e.execution = credential + "/" + std::to_string(execution_slot(e.execution, rules));
  e.repetitions = 1;  // and so is the number of its runs
  return e;
}

}  // namespace

uint32_t execution_slot(std::string_view execution, const Rules& rules) {
  return static_cast<uint32_t>(stable_hash(execution) % rules.executions_of_one);
}

Judgement judge(std::span<const Said> said, model::CandidateKind kind, const Rules& rules) {
  std::vector<Evidence> all;
  std::map<std::string, std::vector<Evidence>> by_credential;
  std::map<std::string, bool> trusted;
  for (const Said& one : said) {
    Evidence e = one.trusted ? one.evidence : as_claim(one.evidence, one.credential, rules);
    // Ids are unique for their credential only.
    e.id = one.credential + "/" + e.id;
    if (!e.withdraws.empty()) e.withdraws = one.credential + "/" + e.withdraws;
    by_credential[one.credential].push_back(e);
    trusted[one.credential] = one.trusted;
    all.push_back(std::move(e));
  }
  Judgement judgement;
  bool trusted_against = false;
  for (const auto& [credential, evidence] : by_credential) {
    const VerdictState state = model::fold(evidence, kind).state;
    if (state == VerdictState::kTrueRace && !trusted[credential]) ++judgement.claimed_by;
    if (state != VerdictState::kLikelyFalsePositive) continue;
    ++judgement.against;
    trusted_against |= trusted[credential];
  }
  judgement.verdict = model::fold(all, kind);
  model::Verdict& verdict = judgement.verdict;
  judgement.proved =
      verdict.state == VerdictState::kTrueRace && verdict.basis > model::Basis::kClaimed;
  if (verdict.state == VerdictState::kLikelyFalsePositive && !trusted_against &&
      judgement.against < rules.against) {
    verdict.state = VerdictState::kUnknown;
    verdict.confidence = 0;
  }
  return judgement;
}

}  // namespace deadheat::hive::crowd
