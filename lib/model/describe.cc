// Sites and candidates as one line of text for people. No identity depends on this wording.
#include <algorithm>
#include <functional>

#include "lib/base/text.h"
#include "lib/model/candidate.h"
#include "lib/model/enum_names.h"
#include "lib/model/normalize.h"
#include "lib/model/reproducer.h"

namespace deadheat::model {
namespace {

bool is_number(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

std::string called(std::string_view function) {
  std::string text = normalize_function(function).name;
  if (!text.ends_with(')') && !text.empty()) text += "()";
  return text;
}

std::string module_place(const Site& site) {
  std::string text(basename_of(site.module));
  if (!site.pcs.empty()) text += (text.empty() ? "" : "+") + hex(site.pcs.front());
  return text;
}

std::string source_place(const Site& site) {
  std::string text(basename_of(site.file));
  if (site.line > 0 && !text.empty()) text += ":" + std::to_string(site.line);
  return text;
}

std::string describe_code(const Site& site) {
  std::string text = called(site.function);
  std::string where = source_place(site);
  if (where.empty()) {
    where = module_place(site);
    if (!text.empty() && !where.empty()) where = "in " + where;
  }
  if (!text.empty() && !where.empty()) text += " ";
  return text + where;
}

std::string describe_syscall(const Site& site) {
  std::string text(basename_of(site.program));
  if (!text.empty()) text += " ";
  return site.syscall.empty() ? text + site.object : text + site.syscall + "(" + site.object + ")";
}

std::string_view kind_words(CandidateKind kind) {
  switch (kind) {
    case CandidateKind::kDataRace:
      return "Data race";
    case CandidateKind::kOrder:
      return "Order dependence";
    case CandidateKind::kCollision:
      return "Collision";
    case CandidateKind::kLoadStore:
      return "Load-store race";
    case CandidateKind::kWaitWakeups:
      return "Wait-wakeups race";
    case CandidateKind::kWakeupWaits:
      return "Wakeup-waits race";
    case CandidateKind::kFailure:
      return "Failure under some schedules";
    case CandidateKind::kCount:
      break;
  }
  return "Race";
}

std::string access_words(AccessKind kind) {
  if (kind == AccessKind::kUnknown) return "access";
  std::string words(name(kind));
  std::replace(words.begin(), words.end(), '_', ' ');
  return words;
}

// "assertion total == expected at audit()", "exit status 3 of bank".
std::string failure_words(const Role& role) {
  const std::string what = role.name.empty() ? "failure" : role.name;
  if (role.site.kind == SiteKind::kLabel)
    return role.site.module.empty() ? what
                                    : what + " of " + std::string(basename_of(role.site.module));
  return what + " at " +
         (role.site.function.empty() ? describe(role.site) : called(role.site.function));
}

std::string role_words(const Role& role) {
  const std::string access = access_words(role.access);
  if (role.site.kind == SiteKind::kCode && !role.site.function.empty())
    return access + " in " + called(role.site.function);
  return access + (role.site.kind == SiteKind::kSyscall ? " by " : " at ") + describe(role.site);
}

}  // namespace

bool is_write(AccessKind kind) {
  switch (kind) {
    case AccessKind::kWrite:
    case AccessKind::kAtomicWrite:
    case AccessKind::kFree:
    case AccessKind::kStore:
    case AccessKind::kWakeup:
      return true;
    default:
      return false;
  }
}

bool is_atomic(AccessKind kind) {
  return kind == AccessKind::kAtomicRead || kind == AccessKind::kAtomicWrite;
}

std::string describe(const Site& site) {
  std::string text;
  switch (site.kind) {
    case SiteKind::kCode:
      text = describe_code(site);
      break;
    case SiteKind::kSyscall:
      text = describe_syscall(site);
      break;
    case SiteKind::kLabel:
      // The location field of STD is a number, usually a source line.
      text = is_number(site.label) ? "line " + site.label : site.label;
      break;
  }
  return text.empty() ? "unknown place" : text;
}

std::string describe(const Reproducer& reproducer) {
  switch (reproducer.kind) {
    case ReproducerKind::kSeed: {
      std::string text = "seed " + std::to_string(reproducer.seed) + ", strategy " +
                         (reproducer.strategy.empty() ? "not said" : reproducer.strategy);
      if (reproducer.depth > 0) text += ", depth " + std::to_string(reproducer.depth);
      if (reproducer.length > 0) text += ", length " + std::to_string(reproducer.length);
      return text;
    }
    case ReproducerKind::kBranch:
      return "branch " + reproducer.branch;
    case ReproducerKind::kValidation:
      return "validation";
    case ReproducerKind::kNone:
    case ReproducerKind::kCount:
      break;
  }
  return "nothing to repeat it by";
}

std::string title(const Candidate& candidate) {
  std::string text(kind_words(candidate.kind));
  if (candidate.kind == CandidateKind::kFailure)
    return candidate.roles.empty() ? text : text + ": " + failure_words(candidate.roles[0]);
  std::vector<std::string> roles;
  const std::string* variable = nullptr;
  bool one_variable = true;
  for (const Role& role : candidate.roles) {
    roles.push_back(role_words(role));
    if (role.site.variable.empty()) continue;
    one_variable = one_variable && (variable == nullptr || *variable == role.site.variable);
    variable = &role.site.variable;
  }
  // Finders may report the two sides in either order; the title must be the same for both.
  if (candidate.kind <= CandidateKind::kCollision)
    std::sort(roles.begin(), roles.end(), std::greater<>());
  if (variable != nullptr && one_variable) text += " on " + *variable;
  for (size_t i = 0; i < roles.size(); ++i)
    text += (i == 0 ? ": " : i + 1 == roles.size() ? " and " : ", ") + roles[i];
  return text;
}

}  // namespace deadheat::model
