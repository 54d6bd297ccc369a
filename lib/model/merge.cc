#include "lib/model/merge.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <utility>

#include "lib/model/is_set.h"

namespace deadheat::model {
namespace {

template <typename T>
void unite(std::vector<T>& into, const std::vector<T>& more) {
  // The common case when merging findings of one place.
  if (is_set(into) && is_set(more) &&
      std::includes(into.begin(), into.end(), more.begin(), more.end()))
    return;
  into.insert(into.end(), more.begin(), more.end());
  std::sort(into.begin(), into.end());
  into.erase(std::unique(into.begin(), into.end()), into.end());
}

void learn(std::string& known, const std::string& other) {
  if (known.empty()) known = other;
}

void learn_site(Site& known, const Site& other) {
  // File addresses are meaningful only within their binary.
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
  // A line number belongs to that version of the file: take both or neither.
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

// An odd permutation reverses Order::kPrimary ("the order in which the candidate names the roles").
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

void turn_order(Evidence& evidence) {
  turn(evidence.order);
  if (evidence.trial) turn(evidence.trial->wished);
}
void turn_order(Suspicion& /*suspicion*/) {}

template <typename Entry>
void renumber(Entry& entry, const std::vector<uint32_t>& to) {
  for (Step& step : entry.steps) {
    if (step.role < to.size()) step.role = to[step.role];
  }
  if (std::is_sorted(to.begin(), to.end())) return;
  if (!entry.accesses.empty() && entry.accesses.size() <= to.size()) {
    std::vector<Access> accesses(to.size());
    for (size_t i = 0; i < entry.accesses.size(); ++i)
      accesses[to[i]] = std::move(entry.accesses[i]);
    entry.accesses = std::move(accesses);
  }
  if (turns_order(to)) turn_order(entry);
}

// Linear search: a finding has only one suspicion per finder and input.
void add_suspicion(std::vector<Suspicion>& all, Suspicion more) {
  const auto held =
      std::find_if(all.begin(), all.end(), [&](const Suspicion& one) { return one.id == more.id; });
  if (held == all.end()) {
    all.push_back(std::move(more));
  } else if (more < *held) {
    *held = std::move(more);
  }
}

// Of two entries with the same id keep the lesser, as the fold does, whichever came first.
void add_evidence(std::vector<Evidence>& all, Evidence more, EvidenceIds& ids) {
  const size_t held = ids.find(all, more.id);
  if (held == all.size()) {
    all.push_back(std::move(more));
  } else if (more < all[held]) {
    all[held] = std::move(more);
  }
}

bool is_copy(const Finding& a, const Finding& b) {
  if (a.candidate.kind != b.candidate.kind || a.candidate.roles != b.candidate.roles) return false;
  const bool nothing_known = a.evidence.empty() && b.evidence.empty();
  if (nothing_known && a.suspicions.empty() && b.suspicions.empty()) return true;
  const auto share = [](const auto& ours, const auto& theirs) {
    return std::any_of(ours.begin(), ours.end(), [&](const auto& e) {
      return std::find(theirs.begin(), theirs.end(), e) != theirs.end();
    });
  };
  return share(a.evidence, b.evidence) || share(a.suspicions, b.suspicions);
}

}  // namespace

size_t EvidenceIds::find(const std::vector<Evidence>& all, const std::string& id) {
  constexpr size_t kFew = 16;
  if (all.size() <= kFew) {
    const auto same = [&](const Evidence& e) { return e.id == id; };
    return static_cast<size_t>(std::find_if(all.begin(), all.end(), same) - all.begin());
  }
  for (; indexed_ < all.size(); ++indexed_) positions_.emplace(all[indexed_].id, indexed_);
  const auto found = positions_.find(id);
  return found == positions_.end() ? all.size() : found->second;
}

RoleMatch same_finding(const Finding& finding, const Finding& known) {
  RoleMatch roles = match_roles(finding.candidate, known.candidate);
  if (roles.match == Match::kSame || !is_copy(finding, known)) return roles;
  roles.match = Match::kSame;
  roles.to.resize(finding.candidate.roles.size());
  std::iota(roles.to.begin(), roles.to.end(), 0U);
  return roles;
}

void merge(Finding& known, Finding finding, const RoleMatch& roles, EvidenceIds& ids) {
  for (size_t i = 0; i < roles.to.size(); ++i)
    learn_site(known.candidate.roles[roles.to[i]].site, finding.candidate.roles[i].site);
  unite(known.candidate.found_by, finding.candidate.found_by);
  for (Evidence& evidence : finding.evidence) {
    renumber(evidence, roles.to);
    add_evidence(known.evidence, std::move(evidence), ids);
  }
  for (Suspicion& suspicion : finding.suspicions) {
    renumber(suspicion, roles.to);
    add_suspicion(known.suspicions, std::move(suspicion));
  }
}

void make_regular(Finding& finding, EvidenceIds& ids) {
  std::vector<Evidence> evidence;
  evidence.swap(finding.evidence);
  unite(finding.candidate.found_by, {});
  for (Role& role : finding.candidate.roles) unite(role.site.pcs, {});
  for (Evidence& entry : evidence) add_evidence(finding.evidence, std::move(entry), ids);
  std::vector<Suspicion> suspicions;
  suspicions.swap(finding.suspicions);
  for (Suspicion& entry : suspicions) add_suspicion(finding.suspicions, std::move(entry));
}

}  // namespace deadheat::model
