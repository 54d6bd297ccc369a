#include "lib/model/finding.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <set>
#include <string_view>
#include <utility>

#include "lib/model/identity.h"

namespace deadheat::model {
namespace {

template <typename T>
void unite(std::vector<T>& into, const std::vector<T>& more) {
  into.insert(into.end(), more.begin(), more.end());
  std::sort(into.begin(), into.end());
  into.erase(std::unique(into.begin(), into.end()), into.end());
}

void learn(std::string& known, const std::string& other) {
  if (known.empty()) known = other;
}

void learn_site(Site& known, const Site& other) {
  // File addresses mean something only within their binary.
  if (known.build_id == other.build_id &&
      (known.module == other.module || !known.build_id.empty())) {
    unite(known.pcs, other.pcs);
  } else if (known.build_id.empty() && known.pcs.empty()) {
    known.build_id = other.build_id;
    known.pcs = other.pcs;
    if (!other.module.empty()) known.module = other.module;
  }
  learn(known.module, other.module);
  learn(known.function, other.function);
  learn(known.source_text, other.source_text);
  learn(known.variable, other.variable);
  // A line belongs to its file as it was then: they are taken together or not at all.
  if (known.file.empty() || known.line == 0) {
    known.file = other.file.empty() ? known.file : other.file;
    known.line = other.line;
    known.column = other.column;
    known.function_line = other.function_line;
  } else if (known.line == other.line) {
    if (known.column == 0) known.column = other.column;
    if (known.function_line == 0) known.function_line = other.function_line;
  }
}

// An odd number of exchanges turns "the order in which the candidate names them" around.
bool turns_order(const std::vector<uint32_t>& to) {
  bool odd = false;
  for (size_t i = 0; i < to.size(); ++i) {
    for (size_t j = i + 1; j < to.size(); ++j) odd ^= to[i] > to[j];
  }
  return odd;
}

void turn(Order& order) {
  if (order == Order::kUnknown) return;
  order = order == Order::kPrimary ? Order::kAlternate : Order::kPrimary;
}

void renumber(Evidence& evidence, const std::vector<uint32_t>& to) {
  for (Step& step : evidence.steps) {
    if (step.role < to.size()) step.role = to[step.role];
  }
  if (std::is_sorted(to.begin(), to.end())) return;
  if (!evidence.accesses.empty() && evidence.accesses.size() <= to.size()) {
    std::vector<Access> accesses(to.size());
    for (size_t i = 0; i < evidence.accesses.size(); ++i)
      accesses[to[i]] = std::move(evidence.accesses[i]);
    evidence.accesses = std::move(accesses);
  }
  if (!turns_order(to)) return;
  turn(evidence.order);
  if (evidence.trial) turn(evidence.trial->wished);
}

// Of two entries with one id the lesser is kept: what the fold would take, whichever came first.
void add_evidence(std::vector<Evidence>& all, Evidence more) {
  const auto same_id = [&](const Evidence& e) { return e.id == more.id; };
  const auto held = std::find_if(all.begin(), all.end(), same_id);
  if (held == all.end()) {
    all.push_back(std::move(more));
  } else if (more < *held) {
    *held = std::move(more);
  }
}

bool is_copy(const Finding& a, const Finding& b) {
  if (a.candidate.kind != b.candidate.kind || a.candidate.roles != b.candidate.roles) return false;
  if (a.evidence.empty() && b.evidence.empty()) return true;
  return std::any_of(a.evidence.begin(), a.evidence.end(), [&](const Evidence& e) {
    return std::find(b.evidence.begin(), b.evidence.end(), e) != b.evidence.end();
  });
}

void merge(Finding& known, Finding finding, const std::vector<uint32_t>& to) {
  for (size_t i = 0; i < to.size(); ++i)
    learn_site(known.candidate.roles[to[i]].site, finding.candidate.roles[i].site);
  unite(known.candidate.found_by, finding.candidate.found_by);
  for (Evidence& evidence : finding.evidence) {
    renumber(evidence, to);
    add_evidence(known.evidence, std::move(evidence));
  }
}

Error broken(size_t finding, std::string_view where, std::string_view what, std::string hint) {
  return Error{
      "findings[" + std::to_string(finding) + "]." + std::string(where) + ": " + std::string(what),
      std::move(hint)};
}

template <typename T>
bool is_set(const std::vector<T>& values) {
  return std::adjacent_find(values.begin(), values.end(), std::greater_equal<>()) == values.end();
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

Status check_evidence(const Finding& finding, size_t number) {
  std::set<std::string_view> ids;
  for (size_t i = 0; i < finding.evidence.size(); ++i) {
    const Evidence& e = finding.evidence[i];
    const std::string where = "evidence[" + std::to_string(i) + "]";
    if (e.id.empty())
      return broken(number, where + ".id", "is empty",
                    "give every piece of evidence an id of its own");
    if (!ids.insert(e.id).second)
      return broken(number, where + ".id", "\"" + e.id + "\" is there twice",
                    "remove one of the two entries");
    if (e.accesses.size() > finding.candidate.roles.size())
      return broken(number, where + ".accesses", "more accesses than roles",
                    "list at most one access a role");
    for (size_t s = 0; s < e.steps.size(); ++s) {
      if (e.steps[s].role < finding.candidate.roles.size()) continue;
      return broken(number, where + ".steps[" + std::to_string(s) + "].role",
                    "there is no role " + std::to_string(e.steps[s].role),
                    "roles are numbered from 0");
    }
    for (size_t s = 0; s < e.steps.size(); ++s) {
      if (!is_set(e.steps[s].site.pcs))
        return broken(number, where + ".steps[" + std::to_string(s) + "].site.pcs",
                      "not sorted or not unique", "");
    }
    if (Status status = check_story(e.recorded, number, where + ".recorded"); !status)
      return status;
    if (Status status = check_story(e.failed, number, where + ".failed"); !status) return status;
  }
  return Ok{};
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

void add_finding(FindingsFile& file, Finding finding) {
  for (Finding& known : file.findings) {
    RoleMatch roles = match_roles(finding.candidate, known.candidate);
    if (roles.match != Match::kSame) {
      if (!is_copy(finding, known)) continue;
      roles.to.resize(finding.candidate.roles.size());
      std::iota(roles.to.begin(), roles.to.end(), 0U);
    }
    return merge(known, std::move(finding), roles.to);
  }
  std::vector<Evidence> evidence;
  evidence.swap(finding.evidence);
  unite(finding.candidate.found_by, {});
  for (Role& role : finding.candidate.roles) unite(role.site.pcs, {});
  for (Evidence& entry : evidence) add_evidence(finding.evidence, std::move(entry));
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
