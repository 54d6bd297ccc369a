// Identity of candidates: pairing of roles, the exact key, the display id.
#include "lib/model/identity.h"

#include <algorithm>
#include <cstdio>
#include <set>

#include "lib/base/text.h"
#include "lib/model/enum_names.h"
#include "lib/model/normalize.h"

namespace deadheat::model {
namespace {

constexpr size_t kMostRoles =
    64;  // races have two or three; beyond this limit roles are paired in order

Match match_access(AccessKind a, AccessKind b) {
  if (a == AccessKind::kUnknown || b == AccessKind::kUnknown) return Match::kLikely;
  return a == b ? Match::kSame : Match::kDifferent;
}

Match match_kind(CandidateKind a, CandidateKind b) {
  return a == b ? Match::kSame : Match::kDifferent;
}

Match match_role(const Role& a, const Role& b) {
  const Match access = match_access(a.access, b.access);
  return access == Match::kDifferent ? access : std::min(access, match(a.site, b.site));
}

using Table = std::vector<std::vector<Match>>;

// Augmenting path: finds a partner for role i of `a` among the roles of `b`, moving others if
// needed.
bool place(size_t i, Match at_least, const Table& table, std::vector<int>& owner,
           std::vector<bool>& visited) {
  // Starting at i prefers the given order of the roles, so that equal sites stay in place.
  for (size_t step = 0; step < owner.size(); ++step) {
    const size_t j = (i + step) % owner.size();
    if (visited[j] || table[i][j] < at_least) continue;
    visited[j] = true;
    if (owner[j] < 0 || place(static_cast<size_t>(owner[j]), at_least, table, owner, visited)) {
      owner[j] = static_cast<int>(i);
      return true;
    }
  }
  return false;
}

std::vector<uint32_t> correspondence(const Table& table, Match at_least) {
  std::vector<int> owner(table.size(), -1);
  for (size_t i = 0; i < table.size(); ++i) {
    std::vector<bool> visited(table.size());
    if (!place(i, at_least, table, owner, visited)) return {};
  }
  std::vector<uint32_t> to(table.size());
  for (size_t j = 0; j < owner.size(); ++j)
    to[static_cast<size_t>(owner[j])] = static_cast<uint32_t>(j);
  return to;
}

std::string exact_place(const Site& site) {
  std::string key(name(site.kind));
  switch (site.kind) {
    case SiteKind::kCode:
      if (site.build_id.empty() || site.pcs.empty()) return {};
      key += '\0' + site.build_id;
      for (const uint64_t pc : site.pcs) key += '\0' + hex(pc);
      return key;
    case SiteKind::kSyscall:
      if (site.program.empty() || site.syscall.empty() || site.object.empty()) return {};
      return key + '\0' + site.program + '\0' + site.syscall + '\0' + site.object + '\0' +
             std::to_string(site.line);
    case SiteKind::kLabel:
      return site.label.empty() ? std::string() : key + '\0' + site.module + '\0' + site.label;
  }
  return {};
}

// The name of a failure's role says how it failed.
std::string what_it_does(const Candidate& candidate, const Role& role) {
  std::string text(name(role.access));
  return candidate.kind == CandidateKind::kFailure ? text + '\0' + role.name : text;
}

// The parts of a site that survive a rebuild and edits elsewhere.
std::string drift_free(const Site& site) {
  switch (site.kind) {
    case SiteKind::kCode: {
      const std::string function = normalize_function(site.function).name;
      const std::string variable = normalize_variable(site.variable),
                        text = normalize_text(site.source_text);
      std::string key = function + '\0' + variable + '\0' + text;
      if (!function.empty() || !text.empty()) return key;
      key += '\0' + std::string(basename_of(site.file)) + ':' + std::to_string(site.line);
      key += '\0' + std::string(basename_of(site.module));
      return site.pcs.empty() ? key : key + hex(site.pcs.front());
    }
    case SiteKind::kSyscall:
      return std::string(basename_of(site.program)) + '\0' + normalize_syscall(site.syscall) +
             '\0' + normalize_object(site.object);
    case SiteKind::kLabel:
      return site.module + '\0' + site.label;
  }
  return {};
}

// A failure accesses nothing; how it failed distinguishes two failures at one place.
RoleMatch match_failure(const Role& a, const Role& b) {
  const Match sites = a.name == b.name ? match(a.site, b.site) : Match::kDifferent;
  return sites == Match::kDifferent ? RoleMatch{} : RoleMatch{sites, {0}};
}

}  // namespace

RoleMatch match_roles(const Candidate& a, const Candidate& b) {
  const Match kinds = match_kind(a.kind, b.kind);
  const size_t count = a.roles.size();
  if (kinds == Match::kDifferent || count != b.roles.size() || count == 0) return {};
  if (a.kind == CandidateKind::kFailure) return match_failure(a.roles[0], b.roles[0]);
  // Most pairs of candidates have nothing in common: detect that before allocating anything.
  const auto fits_first = [&](const Role& role) {
    return match_role(a.roles[0], role) != Match::kDifferent;
  };
  if (std::none_of(b.roles.begin(), b.roles.end(), fits_first)) return {};
  Table table(count, std::vector<Match>(count, Match::kDifferent));
  for (size_t i = 0; i < count; ++i) {
    bool any = false;
    for (size_t j = 0; j < count; ++j) {
      if (count <= kMostRoles || i == j) table[i][j] = match_role(a.roles[i], b.roles[j]);
      any = any || table[i][j] != Match::kDifferent;
    }
    if (!any) return {};
  }
  for (const Match at_least : {Match::kSame, Match::kLikely}) {
    std::vector<uint32_t> to = correspondence(table, at_least);
    if (to.size() == count) return RoleMatch{std::min(kinds, at_least), std::move(to)};
  }
  return {};
}

Match match(const Candidate& a, const Candidate& b) { return match_roles(a, b).match; }

std::string exact_key(const Candidate& candidate) {
  std::multiset<std::string> roles;
  for (const Role& role : candidate.roles) {
    const std::string key = exact_place(role.site);
    if (key.empty()) return {};
    roles.insert(what_it_does(candidate, role) + '\0' + key);
  }
  std::string all(name(candidate.kind));
  for (const std::string& role : roles) all += '\1' + role;
  return all;
}

std::string display_id(const Candidate& candidate) {
  std::multiset<std::string> roles;
  for (const Role& role : candidate.roles)
    roles.insert(what_it_does(candidate, role) + '\0' + std::string(name(role.site.kind)) + '\0' +
                 drift_free(role.site));
  std::string all(name(candidate.kind));
  for (const std::string& role : roles) all += '\1' + role;
  const uint64_t hash = stable_hash(all);
  char text[16];
  std::snprintf(text, sizeof text, "DH-%08x", static_cast<unsigned>(hash ^ (hash >> 32)));
  return text;
}

}  // namespace deadheat::model
