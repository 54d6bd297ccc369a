// The fold of verdict.h in three steps: select the valid evidence (a set), weigh each piece, add
// up.
//
// Every step is a function of the set alone: sums, maxima and set sizes. Therefore evidence that
// comes late, twice or is withdrawn does no damage.
#include "lib/model/verdict.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <string_view>
#include <vector>

namespace deadheat::model {
namespace {

// kSighting: it happened, but nothing shows that it was a race.
enum class Weight : uint8_t { kNothing, kSighting, kClaim, kProof, kAgainst };

constexpr double kExecutionsOfRuleOfThree = 3;  // -ln(0.05): 95% confidence
constexpr int kMaxClaimSources = 10;  // 1 - 2^-10 = 0.999: claims alone never reach certainty

bool matters_only_when_it_fails(CandidateKind kind) { return kind != CandidateKind::kDataRace; }

// Both orders are legal in themselves, and a single failure may have any cause.
bool needs_harm(CandidateKind kind) {
  return matters_only_when_it_fails(kind) && kind != CandidateKind::kFailure;
}

bool all_plain_and_conflicting(const std::vector<Access>& accesses) {
  const auto plain = [](const Access& a) {
    return a.kind != AccessKind::kUnknown && !is_atomic(a.kind);
  };
  const auto writes = [](const Access& a) { return is_write(a.kind); };
  return accesses.size() >= 2 && std::all_of(accesses.begin(), accesses.end(), plain) &&
         std::any_of(accesses.begin(), accesses.end(), writes);
}

// A watchpoint cannot tell an atomic access from a plain one: unless other information says
// otherwise, both sides of a collision may be atomic.
Ordered edge_between(const Evidence& e) {
  if (e.ordered != Ordered::kUnknown) return e.ordered;
  switch (e.proof) {
    case Proof::kHappensBefore:
    case Proof::kCoEnabled:
      return Ordered::kNo;
    case Proof::kCollision:
      return all_plain_and_conflicting(e.accesses) ? Ordered::kNo : Ordered::kUnknown;
    default:
      return Ordered::kUnknown;
  }
}

Weight weigh_order(const Evidence& e, CandidateKind kind) {
  const bool failed =
      e.consequence.kind != ConsequenceKind::kNone || e.outcome == Outcome::kDeadlock;
  if (e.proof == Proof::kFailedBranch && failed) return Weight::kProof;
  if (e.proof == Proof::kAgentClaim && failed) return Weight::kClaim;
  // Two acquisitions of one lock are always ordered by that lock: for kOrder, an edge is no
  // evidence against the candidate.
  if (kind != CandidateKind::kOrder && e.outcome == Outcome::kRace && e.ordered == Ordered::kYes)
    return Weight::kAgainst;
  return Weight::kSighting;
}

Weight weigh_race(const Evidence& e, CandidateKind kind) {
  if (matters_only_when_it_fails(kind)) return weigh_order(e, kind);
  const Ordered edge = edge_between(e);
  if (edge == Ordered::kYes) return Weight::kAgainst;
  if (edge == Ordered::kUnknown || e.proof == Proof::kPartialHappensBefore)
    return Weight::kSighting;
  // If both threads were seen at their accesses at once, they can evidently be scheduled there.
  const bool seen_together = e.proof == Proof::kCoEnabled || e.proof == Proof::kCollision;
  if (e.schedulable == Schedulable::kNo && !seen_together) return Weight::kSighting;
  return basis_of(e.proof) == Basis::kClaimed ? Weight::kClaim : Weight::kProof;
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

// The valid evidence: one entry per id, without the withdrawn ones. Evidence without an id is
// identified by its content.
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

// Distinct executions, and the number of runs each represents. Several pieces of evidence may
// describe one execution; all unnamed executions count as one.
using Runs = std::map<std::string_view, uint32_t>;

void count_runs(const Evidence& e, Runs& into) {
  uint32_t& runs = into[e.execution];
  runs = std::max({runs, e.repetitions, 1U});
}

uint32_t sum_of(const Runs& all) {
  uint64_t sum = 0;
  for (const auto& [execution, runs] : all) sum += runs;
  return static_cast<uint32_t>(std::min<uint64_t>(sum, UINT32_MAX));
}

// For each kind of consequence: how often it was seen, in which executions, and its best detail
// text.
class Harm {
 public:
  void add(const Evidence& e) {
    Consequence consequence = e.consequence;
    if (e.outcome == Outcome::kDeadlock && consequence.kind < ConsequenceKind::kDeadlock)
      consequence.kind = ConsequenceKind::kDeadlock;
    if (consequence.kind == ConsequenceKind::kNone) return;
    Seen& seen = kinds_[consequence.kind];
    count_runs(e, seen.executions);
    const Basis basis = basis_of(e.proof);
    if (basis > seen.basis || (basis == seen.basis && tells_more(consequence.detail, seen.detail)))
      seen.detail = consequence.detail;
    seen.basis = std::max(seen.basis, basis);
  }

  void judge(Verdict& verdict) const {
    for (const auto& [kind, seen] : kinds_) {  // mild to severe
      const uint32_t executions = sum_of(seen.executions);
      if (executions < kLeastExecutions) {
        verdict.seen_once = {kind, seen.detail};
        continue;
      }
      verdict.consequence = {kind, seen.detail};
      verdict.consequence_basis = seen.basis;
      verdict.consequence_executions = executions;
      verdict.seen_once = {};
    }
  }

 private:
  static constexpr uint32_t kLeastExecutions = 2;  // a single one may be caused by our own tool

  struct Seen {
    Basis basis = Basis::kNone;
    std::string detail;
    Runs executions;
  };

  // Prefers any detail to none; then the lesser text.
  static bool tells_more(const std::string& detail, const std::string& held) {
    if (held.empty() != detail.empty()) return held.empty();
    return detail < held;
  }

  std::map<ConsequenceKind, Seen> kinds_;
};

}  // namespace

Basis basis_of(Proof proof) {
  switch (proof) {
    case Proof::kHappensBefore:
      return Basis::kObserved;
    case Proof::kCoEnabled:
    case Proof::kCollision:
    case Proof::kFailedBranch:
      return Basis::kMadeToHappen;
    case Proof::kNone:
    case Proof::kAgentClaim:
    case Proof::kPartialHappensBefore:
    case Proof::kCount:
      break;
  }
  return Basis::kClaimed;
}

Verdict fold(std::span<const Evidence> evidence, CandidateKind kind) {
  Verdict verdict;
  Harm harm;
  // All evidence without a source counts as one source.
  Runs executions;
  std::set<std::string_view> executions_against, sources_claiming;
  Basis shown = Basis::kNone;
  for (const Evidence* e : standing(evidence, verdict)) {
    const Weight weight = weigh(*e, kind);
    count(*e, weight, verdict);
    if (weight == Weight::kNothing) continue;
    count_runs(*e, executions);
    if (weight == Weight::kAgainst) {
      executions_against.insert(e->execution);
      continue;
    }
    harm.add(*e);
    if (weight == Weight::kProof) shown = std::max(shown, basis_of(e->proof));
    if (weight == Weight::kClaim) sources_claiming.insert(e->source);
  }
  harm.judge(verdict);
  verdict.executions = sum_of(executions);
  if (needs_harm(kind) && verdict.consequence.kind == ConsequenceKind::kNone) {
    shown = Basis::kNone;
    sources_claiming.clear();
  }
  if (shown != Basis::kNone) {
    verdict.state = VerdictState::kTrueRace;
    verdict.basis = shown;
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
