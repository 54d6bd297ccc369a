#include "lib/model/finding.h"

#include <algorithm>
#include <functional>
#include <set>
#include <string_view>
#include <utility>

#include "lib/model/is_set.h"
#include "lib/model/merge.h"

namespace deadheat::model {
namespace {

Error broken(size_t finding, std::string_view where, std::string_view what, std::string hint) {
  return Error{
      "findings[" + std::to_string(finding) + "]." + std::string(where) + ": " + std::string(what),
      std::move(hint)};
}

Status check_story(const Story& story, size_t number, const std::string& where) {
  for (size_t i = 0; i < story.calls.size(); ++i) {
    if (story.calls[i].process < story.processes.size()) continue;
    return broken(number, where + ".calls[" + std::to_string(i) + "].process",
                  "there is no process " + std::to_string(story.calls[i].process),
                  "processes are numbered from 0 in their list");
  }
  for (size_t i = 0; i < story.edges.size(); ++i) {
    const StoryEdge& edge = story.edges[i];
    if (edge.from < edge.to && edge.to < story.calls.size()) continue;
    return broken(number, where + ".edges[" + std::to_string(i) + "]",
                  "does not lead from one call to a later one", "calls are numbered from 0");
  }
  return Ok{};
}

// Checks what evidence and suspicions have in common: a unique id, and accesses and steps of roles.
template <typename Entry>
Status check_entries(const Finding& finding, size_t number, const std::vector<Entry>& entries,
                     const std::string& list) {
  std::set<std::string_view> ids;
  const size_t roles = finding.candidate.roles.size();
  for (size_t i = 0; i < entries.size(); ++i) {
    const Entry& e = entries[i];
    const std::string where = list + "[" + std::to_string(i) + "]";
    if (e.id.empty())
      return broken(number, where + ".id", "is empty", "give every entry an id of its own");
    if (!ids.insert(e.id).second)
      return broken(number, where + ".id", "\"" + e.id + "\" is there twice",
                    "remove one of the two entries");
    if (e.accesses.size() > roles)
      return broken(number, where + ".accesses", "more accesses than roles",
                    "list at most one access a role");
    for (size_t s = 0; s < e.steps.size(); ++s) {
      const std::string step = where + ".steps[" + std::to_string(s) + "]";
      if (e.steps[s].role >= roles)
        return broken(number, step + ".role", "there is no role " + std::to_string(e.steps[s].role),
                      "roles are numbered from 0");
      if (!is_set(e.steps[s].site.pcs))
        return broken(number, step + ".site.pcs", "not sorted or not unique", "");
    }
  }
  return Ok{};
}

Status check_evidence(const Finding& finding, size_t number) {
  if (Status status = check_entries(finding, number, finding.evidence, "evidence"); !status)
    return status;
  for (size_t i = 0; i < finding.evidence.size(); ++i) {
    const std::string where = "evidence[" + std::to_string(i) + "]";
    const Evidence& e = finding.evidence[i];
    if (Status status = check_story(e.recorded, number, where + ".recorded"); !status)
      return status;
    if (Status status = check_story(e.failed, number, where + ".failed"); !status) return status;
  }
  return check_entries(finding, number, finding.suspicions, "suspicions");
}

Status check_roles(const Candidate& candidate, size_t number) {
  const size_t roles = candidate.roles.size();
  if (candidate.kind == CandidateKind::kFailure)
    return roles == 1
               ? Status(Ok{})
               : broken(number, "roles", "a failure has one role, found " + std::to_string(roles),
                        "name the place where the program failed");
  return roles >= 2 ? Status(Ok{})
                    : broken(number, "roles",
                             "a race has at least two roles, found " + std::to_string(roles),
                             "give each side of the race a role");
}

}  // namespace

Verdict fold(const Finding& finding) { return fold(finding.evidence, finding.candidate.kind); }

CandidateKind shown_kind(const Finding& finding, const Verdict& verdict) {
  const CandidateKind kind = finding.candidate.kind;
  if (kind != CandidateKind::kDataRace || verdict.state == VerdictState::kTrueRace ||
      !finding.suspicions.empty())
    return kind;
  bool collided = false;
  for (const Evidence& e : finding.evidence) {
    if (e.outcome != Outcome::kRace || !e.withdraws.empty()) continue;
    if (e.proof != Proof::kCollision) return kind;
    collided = true;
  }
  return collided ? CandidateKind::kCollision : kind;
}

CandidateKind shown_kind(const Finding& finding) { return shown_kind(finding, fold(finding)); }

void add_finding(FindingsFile& file, Finding finding) {
  EvidenceIds ids;
  for (Finding& known : file.findings) {
    const RoleMatch roles = same_finding(finding, known);
    if (roles.match == Match::kSame) return merge(known, std::move(finding), roles, ids);
  }
  make_regular(finding, ids);
  file.findings.push_back(std::move(finding));
}

Status check(const FindingsFile& file) {
  for (size_t i = 0; i < file.findings.size(); ++i) {
    const Candidate& candidate = file.findings[i].candidate;
    if (Status status = check_roles(candidate, i); !status) return status;
    if (!is_set(candidate.found_by)) return broken(i, "found_by", "not sorted or not unique", "");
    for (size_t r = 0; r < candidate.roles.size(); ++r) {
      if (!is_set(candidate.roles[r].site.pcs))
        return broken(i, "roles[" + std::to_string(r) + "].site.pcs", "not sorted or not unique",
                      "");
    }
    if (Status status = check_evidence(file.findings[i], i); !status) return status;
  }
  return Ok{};
}

}  // namespace deadheat::model
