// The fold of verdict.h in three steps: the evidence that stands (a set), what each piece weighs,
// the sum.
//
// Every step is a function of the set alone: sums, maxima and set sizes. That is what makes late,
// doubled and withdrawn evidence harmless.
#include "lib/model/verdict.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <string_view>
#include <vector>

namespace deadheat::model {
namespace {

// kSighting: it happened, but nothing shows that it was a race.
enum class Weight : uint8_t { kNothing, kSighting, kClaim, kProof, kAgainst };

constexpr double kExecutionsOfRuleOfThree = 3;  // -ln(0.05): 95% confidence
constexpr int kMaxClaimSources = 10;  // 1 - 2^-10 = 0.999: words alone never reach certainty

bool matters_only_when_it_fails(CandidateKind kind) {
  return kind != CandidateKind::kDataRace && kind != CandidateKind::kCollision;
}

bool is_word(Proof proof) { return proof == Proof::kNone || proof == Proof::kAgentClaim; }

Ordered edge_between(const Evidence& e) {
  if (e.ordered != Ordered::kUnknown) return e.ordered;
  switch (e.proof) {
    case Proof::kHappensBefore:
    case Proof::kCoEnabled:
    case Proof::kCollision:
      return Ordered::kNo;
    default:
      return Ordered::kUnknown;
  }
}

bool all_plain_and_conflicting(const std::vector<Access>& accesses) {
  const auto plain = [](const Access& a) {
    return a.kind != AccessKind::kUnknown && !is_atomic(a.kind);
  };
  const auto writes = [](const Access& a) { return is_write(a.kind); };
  return accesses.size() >= 2 && std::all_of(accesses.begin(), accesses.end(), plain) &&
         std::any_of(accesses.begin(), accesses.end(), writes);
}

Weight weigh_order(const Evidence& e, CandidateKind kind) {
  const bool failed =
      e.consequence.kind != ConsequenceKind::kNone || e.outcome == Outcome::kDeadlock;
  if (e.proof == Proof::kFailedBranch && failed) return Weight::kProof;
  if (e.proof == Proof::kAgentClaim && failed) return Weight::kClaim;
  // Two acquisitions of one lock are always ordered by that lock: for kOrder an edge speaks against
  // nothing.
  if (kind != CandidateKind::kOrder && e.outcome == Outcome::kRace && e.ordered == Ordered::kYes)
    return Weight::kAgainst;
  return Weight::kSighting;
}

Weight weigh_race(const Evidence& e, CandidateKind kind) {
  if (matters_only_when_it_fails(kind)) return weigh_order(e, kind);
  const Ordered edge = edge_between(e);
  if (edge == Ordered::kYes) return Weight::kAgainst;
  if (edge == Ordered::kUnknown) return Weight::kSighting;
  // Who saw both threads stand at their accesses need not ask whether they can be scheduled there.
  const bool seen_together = e.proof == Proof::kCoEnabled || e.proof == Proof::kCollision;
  if (e.schedulable == Schedulable::kNo && !seen_together) return Weight::kSighting;
  if (kind == CandidateKind::kCollision && e.proof == Proof::kCollision &&
      !all_plain_and_conflicting(e.accesses))
    return Weight::kSighting;
  return is_word(e.proof) ? Weight::kClaim : Weight::kProof;
}

Weight weigh(const Evidence& e, CandidateKind kind) {
  switch (e.outcome) {
    case Outcome::kRace:
      return weigh_race(e, kind);
    case Outcome::kNoRace:
      return Weight::kAgainst;
    case Outcome::kTimeout:
      return e.maximum_timeout ? Weight::kAgainst : Weight::kNothing;
    case Outcome::kDeadlock:
      return matters_only_when_it_fails(kind) ? weigh_order(e, kind) : Weight::kSighting;
    case Outcome::kDivergedInfeasible:
      return e.order != Order::kUnknown ? Weight::kAgainst : Weight::kNothing;
    case Outcome::kNotSeen:
    case Outcome::kDivergedUncontrolled:
    case Outcome::kCount:
      return Weight::kNothing;
  }
  return Weight::kNothing;
}

// The evidence that stands: one entry an id, none of the withdrawn. Evidence without an id is its
// own content.
std::vector<const Evidence*> standing(std::span<const Evidence> evidence, Verdict& verdict) {
  std::set<std::string_view> withdrawn;
  std::vector<const Evidence*> entries;
  for (const Evidence& e : evidence) {
    if (e.withdraws.empty()) {
      entries.push_back(&e);
    } else {
      withdrawn.insert(e.withdraws);
    }
  }
  // Evidence compares by id first, so that equal ids are neighbours and the first one is the least.
  std::sort(entries.begin(), entries.end(),
            [](const Evidence* a, const Evidence* b) { return *a < *b; });
  const auto same = [](const Evidence* a, const Evidence* b) { return *a == *b; };
  entries.erase(std::unique(entries.begin(), entries.end(), same), entries.end());

  std::vector<const Evidence*> kept;
  for (size_t i = 0; i < entries.size();) {
    const std::string& id = entries[i]->id;
    size_t next = i + 1;
    while (!id.empty() && next < entries.size() && entries[next]->id == id) ++next;
    if (!id.empty() && withdrawn.contains(id)) {
      ++verdict.withdrawn;
    } else {
      if (next > i + 1) ++verdict.conflicts;
      kept.push_back(entries[i]);
    }
    i = next;
  }
  return kept;
}

void count(const Evidence& e, Weight weight, Verdict& verdict) {
  switch (e.outcome) {
    case Outcome::kRace:
      ++(weight == Weight::kAgainst ? verdict.no_races : verdict.races);
      break;
    case Outcome::kNoRace:
      ++verdict.no_races;
      break;
    case Outcome::kTimeout:
      ++verdict.timeouts;
      break;
    case Outcome::kDeadlock:
      ++verdict.deadlocks;
      break;
    case Outcome::kDivergedInfeasible:
    case Outcome::kDivergedUncontrolled:
      ++verdict.diverged;
      break;
    case Outcome::kNotSeen:
    case Outcome::kCount:
      ++verdict.not_seen;
      break;
  }
}

// More severe first; then proved before claimed; then a detail before none; then the least detail.
void keep_worst(const Evidence& e, Verdict& verdict) {
  Consequence consequence = e.consequence;
  if (e.outcome == Outcome::kDeadlock && consequence.kind < ConsequenceKind::kDeadlock)
    consequence.kind = ConsequenceKind::kDeadlock;
  if (consequence.kind == ConsequenceKind::kNone) return;
  const Basis basis = is_word(e.proof) ? Basis::kClaimed : Basis::kProved;
  const Consequence& held = verdict.consequence;
  bool worse = false;
  if (consequence.kind != held.kind) {
    worse = consequence.kind > held.kind;
  } else if (basis != verdict.consequence_basis) {
    worse = basis > verdict.consequence_basis;
  } else if (held.detail.empty() != consequence.detail.empty()) {
    worse = held.detail.empty();
  } else {
    worse = consequence.detail < held.detail;
  }
  if (!worse) return;
  verdict.consequence = consequence;
  verdict.consequence_basis = basis;
}

}  // namespace

Verdict fold(std::span<const Evidence> evidence, CandidateKind kind) {
  Verdict verdict;
  // An unnamed execution or source counts once for all that do not name theirs.
  std::set<std::string_view> executions, executions_against, sources_claiming;
  bool proved = false;
  for (const Evidence* e : standing(evidence, verdict)) {
    const Weight weight = weigh(*e, kind);
    count(*e, weight, verdict);
    if (weight == Weight::kNothing) continue;
    executions.insert(e->execution);
    if (weight == Weight::kAgainst) {
      executions_against.insert(e->execution);
      continue;
    }
    keep_worst(*e, verdict);
    if (weight == Weight::kProof) proved = true;
    if (weight == Weight::kClaim) sources_claiming.insert(e->source);
  }
  verdict.executions = static_cast<uint32_t>(executions.size());
  if (proved) {
    verdict.state = VerdictState::kTrueRace;
    verdict.basis = Basis::kProved;
    verdict.confidence = 1;
  } else if (!sources_claiming.empty()) {
    verdict.state = VerdictState::kTrueRace;
    verdict.basis = Basis::kClaimed;
    const int sources =
        static_cast<int>(std::min<size_t>(sources_claiming.size(), kMaxClaimSources));
    verdict.confidence = 1 - std::ldexp(1.0, -sources);
  } else if (!executions_against.empty()) {
    verdict.state = VerdictState::kLikelyFalsePositive;
    const double n = static_cast<double>(executions_against.size());
    verdict.confidence = std::max(0.0, 1 - kExecutionsOfRuleOfThree / n);
  }
  return verdict;
}

}  // namespace deadheat::model
