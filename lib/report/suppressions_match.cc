// Decides which findings a suppression covers, and suggests the line for a given one.
//
// A side (role) offers names: the function with and without its parameters, file, module, variable,
// label, system call parts of the site; what was accessed; and the frames of its stacks. race_top
// offers only the innermost frame, called_from_lib only modules. A pattern matches a side if it
// matches one of its names.
#include <string.h>

#include <algorithm>

#include "lib/report/clean_text.h"
#include "lib/report/names.h"
#include "lib/report/suppressions.h"

namespace deadheat::report {
namespace {

// memmem is linear in glibc; string_view::find is not.
size_t find_from(std::string_view text, size_t from, std::string_view part) {
  if (from > text.size()) return std::string_view::npos;
  if (part.empty()) return from;
  const void* hit = memmem(text.data() + from, text.size() - from, part.data(), part.size());
  return hit == nullptr ? std::string_view::npos
                        : static_cast<size_t>(static_cast<const char*>(hit) - text.data());
}

bool function_matches(std::string_view pattern, const std::string& function) {
  return pattern_matches(pattern, function) || pattern_matches(pattern, short_function(function));
}

bool site_matches(std::string_view pattern, const model::Site& site) {
  for (const std::string* name : {&site.file, &site.module, &site.variable, &site.label,
                                  &site.program, &site.syscall, &site.object})
    if (pattern_matches(pattern, *name)) return true;
  if (site.kind == model::SiteKind::kSyscall)
    return pattern_matches(pattern, model::describe(site));
  return function_matches(pattern, site.function);
}

bool frame_matches(std::string_view pattern, const model::Frame& frame) {
  return pattern_matches(pattern, frame.file) || pattern_matches(pattern, frame.module) ||
         function_matches(pattern, frame.function);
}

bool access_matches(SuppressionKind kind, std::string_view pattern, const model::Access& access) {
  const auto& stack = access.stack;
  if (kind == SuppressionKind::kCalledFromLib)  // the access itself or the call that made it is in
                                                // the library
    return std::any_of(
        stack.begin(), stack.begin() + static_cast<ptrdiff_t>(std::min<size_t>(2, stack.size())),
        [&](const model::Frame& frame) { return pattern_matches(pattern, frame.module); });
  if (kind == SuppressionKind::kRaceTop)
    return !stack.empty() && frame_matches(pattern, stack.front());
  return pattern_matches(pattern, access.location) ||
         std::any_of(stack.begin(), stack.end(),
                     [&](const model::Frame& f) { return frame_matches(pattern, f); });
}

bool role_matches(SuppressionKind kind, std::string_view pattern, const model::Finding& finding,
                  size_t role) {
  const model::Site& site = finding.candidate.roles[role].site;
  if (kind == SuppressionKind::kCalledFromLib) {
    if (pattern_matches(pattern, site.module)) return true;
  } else if (site_matches(pattern, site)) {
    return true;
  }
  const auto matches = [&](const auto& entry) {
    return role < entry.accesses.size() && access_matches(kind, pattern, entry.accesses[role]);
  };
  return std::any_of(finding.evidence.begin(), finding.evidence.end(), matches) ||
         std::any_of(finding.suspicions.begin(), finding.suspicions.end(), matches);
}

// Assigns each pattern from `next` to its own role. At most four patterns, so at most 4!
// assignments over few roles.
bool assign(const Suppression& suppression, const model::Finding& finding, size_t next,
            std::vector<bool>& taken) {
  if (next == suppression.sides.size()) return true;
  for (size_t role = 0; role < taken.size(); ++role) {
    if (taken[role] || !role_matches(suppression.kind, suppression.sides[next], finding, role))
      continue;
    taken[role] = true;
    if (assign(suppression, finding, next + 1, taken)) return true;
    taken[role] = false;
  }
  return false;
}

// A pattern for exactly this name. Characters that have a meaning in a
// suppressions file, or cannot be printed in one, become '*', which matches
// them too. Empty if too little is left to be safe: "*" would hide
// everything.
std::string pattern_of(std::string name) {
  const bool whole = name.size() <= kLongestName;
  if (!whole) name.resize(kLongestName);
  for (const std::string_view word : {"<->", " reason=", " until="})
    for (size_t at; (at = name.find(word)) != std::string::npos;)
      name.replace(at, word.size(), "*");
  std::string pattern;
  size_t plain = 0;
  for (const char c : name) {
    const bool special = c == '^' || c == '$' || c == '*' || static_cast<unsigned char>(c) < 0x20 ||
                         c == 0x7f || static_cast<unsigned char>(c) >= 0x80;
    if (!special) ++plain;
    if (!special || !pattern.ends_with('*')) pattern += special ? '*' : c;
  }
  if (plain == 0) return {};
  return "^" + pattern + (whole && !pattern.ends_with(' ') ? "$" : "*");
}

// The name that fits a site best.
std::string name_of(const model::Site& site, const std::string& location) {
  if (site.kind == model::SiteKind::kLabel) return site.label;
  if (site.kind == model::SiteKind::kSyscall) return model::describe(site);
  for (const std::string& name :
       {short_function(site.function), site.function, site.file, site.module})
    if (!name.empty()) return name;
  return location;
}

}  // namespace

bool pattern_matches(std::string_view pattern, std::string_view name) {
  if (name.empty() || pattern.empty()) return false;
  const bool at_start = pattern.starts_with('^');
  if (at_start) pattern.remove_prefix(1);
  size_t position = 0;
  bool anchored = at_start;
  while (!pattern.empty()) {
    if (pattern.front() == '*') {
      pattern.remove_prefix(1);
      anchored = false;
      continue;
    }
    if (pattern.front() == '$') return position == name.size() || !anchored;
    const size_t end = pattern.find_first_of("*$");
    const std::string_view part = pattern.substr(0, end);
    pattern.remove_prefix(part.size());
    if (!pattern.empty() &&
        pattern.front() == '$') {  // the last occurrence is the one that can reach the end
      const bool fits = name.size() >= position + part.size() && name.ends_with(part);
      return fits && (!anchored || name.size() - part.size() == position);
    }
    const size_t at = find_from(name, position, part);
    if (at == std::string_view::npos || (anchored && at != position)) return false;
    position = at + part.size();
    anchored = true;
  }
  return true;
}

bool can_match(SuppressionKind kind) {
  return kind == SuppressionKind::kRace || kind == SuppressionKind::kRaceTop ||
         kind == SuppressionKind::kCalledFromLib || kind == SuppressionKind::kFailure;
}

bool matches(const Suppression& suppression, const model::Finding& finding) {
  if (!can_match(suppression.kind)) return false;
  // A line written for races must not hide that the program fails.
  if ((suppression.kind == SuppressionKind::kFailure) !=
      (finding.candidate.kind == model::CandidateKind::kFailure))
    return false;
  const size_t roles = std::min<size_t>(finding.candidate.roles.size(), 8);
  if (suppression.sides.empty() || suppression.sides.size() > roles) return false;
  std::vector<bool> taken(roles, false);
  return assign(suppression, finding, 0, taken);
}

std::string suggest_suppression(const model::Finding& finding) {
  const bool failure = finding.candidate.kind == model::CandidateKind::kFailure;
  std::string line = failure ? "failure:" : "race:";
  for (size_t role = 0; role < finding.candidate.roles.size(); ++role) {
    std::string location;
    const auto look = [&](const auto& entry) {
      if (role < entry.accesses.size() && location.empty())
        location = entry.accesses[role].location;
    };
    for (const model::Evidence& evidence : finding.evidence) look(evidence);
    for (const model::Suspicion& suspicion : finding.suspicions) look(suspicion);
    const std::string pattern = pattern_of(name_of(finding.candidate.roles[role].site, location));
    if (pattern.empty()) return {};
    line += (role == 0 ? "" : " <-> ") + pattern;
  }
  return line;
}

}  // namespace deadheat::report
