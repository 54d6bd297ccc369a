#include "lib/schedule/attach.h"

#include <algorithm>
#include <array>

#include "lib/model/identity.h"
#include "lib/places/places.h"

namespace deadheat::schedule {
namespace {

// Whether an access found by the trial matches role `role`.
bool is_at(const model::Finding& race, size_t access, const TrialRequest& request,
           const model::Candidate& candidate, uint32_t role) {
  if (race.candidate.roles[access].access != candidate.roles[role].access) return false;
  // One line may access several variables.
  const std::string& wanted = candidate.roles[role].site.variable;
  const std::string& found = race.candidate.roles[access].site.variable;
  if (!wanted.empty() && !found.empty() && wanted != found) return false;
  std::vector<uint64_t> pcs = race.candidate.roles[access].site.pcs;
  for (const model::Evidence& evidence : race.evidence)
    if (access < evidence.accesses.size() && !evidence.accesses[access].stack.empty())
      for (const model::Frame& frame : evidence.accesses[access].stack) {
        if (places::is_runtime_module(frame.module)) continue;
        pcs.push_back(frame.offset);
        break;
      }
  return std::any_of(request.sites.begin(), request.sites.end(), [&](const RequestedSite& site) {
    return site.role == role && std::find(pcs.begin(), pcs.end(), site.offset) != pcs.end();
  });
}

// The role of the candidate for each side of the race; none if it is a different race.
std::optional<std::array<uint32_t, 2>> roles_of(const model::Finding& race,
                                                const TrialRequest& request,
                                                const model::Candidate& candidate) {
  if (candidate.roles.size() != 2) return std::nullopt;
  for (const uint32_t first : {0U, 1U})
    if (is_at(race, 0, request, candidate, first) && is_at(race, 1, request, candidate, 1 - first))
      return std::array{first, 1 - first};
  return std::nullopt;
}

model::Order turned(model::Order order) {
  if (order == model::Order::kUnknown) return order;
  return order == model::Order::kPrimary ? model::Order::kAlternate : model::Order::kPrimary;
}

model::Evidence renumbered(model::Evidence evidence, bool exchanged) {
  if (!exchanged) return evidence;
  std::reverse(evidence.accesses.begin(), evidence.accesses.end());
  evidence.order = turned(evidence.order);
  return evidence;
}

model::Evidence without_race(const TrialResult& trial) {
  model::Evidence evidence;
  evidence.source = "schedule";
  evidence.outcome = model::Outcome::kNotSeen;
  if (trial.seen.child.timed_out || trial.seen.released)
    evidence.outcome = model::Outcome::kTimeout;
  if (!trial.seen.deadlock.empty()) evidence.outcome = model::Outcome::kDeadlock;
  if (!trial.divergence.empty()) evidence.outcome = model::Outcome::kDivergedUncontrolled;
  return evidence;
}

}  // namespace

Attached attach(const TrialResult& trial, const TrialRequest& request,
                const model::Candidate& candidate, const model::Consequence& consequence) {
  Attached out;
  bool met = false;
  for (const model::Finding& race : trial.races.findings) {
    const auto roles = roles_of(race, request, candidate);
    const bool plain = race.candidate.kind != model::CandidateKind::kOrder;
    if (!roles || race.evidence.empty()) {
      if (!plain) continue;
      out.others.push_back(race);
      for (model::Evidence& evidence : out.others.back().evidence)
        evidence.consequence = consequence;
      continue;
    }
    if (candidate.kind != model::CandidateKind::kOrder && !plain) {
      out.only_atomic = true;
      continue;
    }
    if (met) continue;  // the first one identifies the trial
    out.evidence = renumbered(race.evidence.front(), (*roles)[0] == 1);
    met = true;
  }
  if (!met) out.evidence = without_race(trial);
  // If both orders are legal, the failure proves the race.
  const bool happened = met || out.evidence.outcome == model::Outcome::kDeadlock;
  if (candidate.kind == model::CandidateKind::kOrder && happened &&
      consequence.kind != model::ConsequenceKind::kNone)
    out.evidence.proof = model::Proof::kFailedBranch;
  out.evidence.consequence = consequence;
  out.evidence.trial = model::Trial{.confirmer = "schedule", .reproducer = reproducer_of(request)};
  return out;
}

}  // namespace deadheat::schedule
