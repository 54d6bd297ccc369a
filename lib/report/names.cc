#include "lib/report/names.h"

#include <array>
#include <filesystem>

#include "lib/base/text.h"
#include "lib/model/normalize.h"
#include "lib/report/report.h"

namespace deadheat::report {

using model::AccessKind;
using model::CandidateKind;
using model::ConsequenceKind;

namespace {

struct KindWords {
  std::string_view id, title, help;
};

KindWords words(CandidateKind kind) {
  switch (kind) {
    case CandidateKind::kDataRace:
      return {"data-race", "Data race",
              "Two threads access the same memory, at least one of them writes, and nothing orders "
              "the two accesses. "
              "In C and C++ this is undefined behaviour. Protect both accesses with one lock, make "
              "them atomic, or "
              "order them (join, condition, barrier)."};
    case CandidateKind::kOrder:
      return {"order-race", "Order-dependent accesses",
              "Two atomic accesses or lock acquisitions conflict and may happen in either order. "
              "This is not undefined "
              "behaviour, but the program may rely on one of the orders. If it does, enforce that "
              "order."};
    case CandidateKind::kCollision:
      return {
          "collision", "Collision",
          "A watchpoint saw two threads at the same memory at the same time, at least one of them "
          "writing. One side "
          "may be atomic in the source; check whether both sides are protected in the same way."};
    case CandidateKind::kLoadStore:
      return {"process-load-store", "Process race",
              "Two processes use the same kernel object (a file, a directory entry, a pid) and one "
              "of them changes it; "
              "nothing orders the two system calls. Use a lock file, an atomic operation (O_EXCL, "
              "rename) or wait for "
              "the other process."};
    case CandidateKind::kWaitWakeups:
      return {"process-wait-wakeups", "Process race",
              "A wait can be ended by either of two wake-ups, and nothing decides which. The "
              "waiting process may act on "
              "the wrong one. Wait for a specific event or check after waking up."};
    case CandidateKind::kWakeupWaits:
      return {"process-wakeup-waits", "Process race",
              "One wake-up can be received by either of two waits, and nothing decides by which. "
              "The other one may wait "
              "for ever. Give each waiter its own object or wake all of them."};
    case CandidateKind::kFailure:
      return {"schedule-failure", "Failure under some schedules",
              "The program failed under a schedule that it has to expect, as no undisturbed run "
              "did, and none of the "
              "races that are known explains it. Replay the schedule in a debugger and look for "
              "what the program takes "
              "for granted about the order of its threads."};
    case CandidateKind::kCount:
      break;
  }
  return {"race", "Race", "Accesses that nothing orders."};
}

struct RankWords {
  std::string_view id, title;
};

constexpr std::array<RankWords, static_cast<size_t>(Rank::kCount)> kRanks = {{
    {"harmful", "Harmful"},
    {"made-to-happen", "Made to happen"},
    {"observed", "Observed"},
    {"candidate", "Candidate"},
    {"likely-false-positive", "Likely false"},
}};

}  // namespace

std::string_view rank_id(Rank rank) { return kRanks.at(static_cast<size_t>(rank)).id; }
std::string_view rank_title(Rank rank) { return kRanks.at(static_cast<size_t>(rank)).title; }
std::string_view rule_id(CandidateKind kind) { return words(kind).id; }
std::string_view kind_title(CandidateKind kind) { return words(kind).title; }
std::string_view kind_help(CandidateKind kind) { return words(kind).help; }

std::string_view access_word(AccessKind kind) {
  switch (kind) {
    case AccessKind::kRead:
      return "read";
    case AccessKind::kWrite:
      return "write";
    case AccessKind::kAtomicRead:
      return "atomic read";
    case AccessKind::kAtomicWrite:
      return "atomic write";
    case AccessKind::kFree:
      return "free";
    case AccessKind::kAcquire:
      return "lock acquisition";
    case AccessKind::kLoad:
      return "load";
    case AccessKind::kStore:
      return "store";
    case AccessKind::kWait:
      return "wait";
    case AccessKind::kWakeup:
      return "wake-up";
    case AccessKind::kUnknown:
    case AccessKind::kCount:
      break;
  }
  return "access";
}

std::string_view consequence_word(ConsequenceKind kind) {
  switch (kind) {
    case ConsequenceKind::kOutputDiffers:
      return "different output";
    case ConsequenceKind::kExitStatus:
      return "wrong exit status";
    case ConsequenceKind::kCheckerFailed:
      return "failed check";
    case ConsequenceKind::kAssertion:
      return "failed assertion";
    case ConsequenceKind::kException:
      return "uncaught exception";
    case ConsequenceKind::kHang:
      return "hang";
    case ConsequenceKind::kDeadlock:
      return "deadlock";
    case ConsequenceKind::kCrash:
      return "crash";
    case ConsequenceKind::kNone:
    case ConsequenceKind::kCount:
      break;
  }
  return "nothing seen";
}

std::string short_function(std::string_view demangled) {
  return model::normalize_function(demangled).name;
}

std::string stable_place(const model::Site& site) {
  if (site.kind != model::SiteKind::kCode) return model::describe(site);
  if (!site.function.empty()) {
    const std::string name = short_function(site.function);
    return name.ends_with(')') ? name : name + "()";
  }
  if (!site.file.empty()) return std::string(base_name(site.file));
  if (!site.module.empty() && !site.pcs.empty())
    return std::string(base_name(site.module)) + "+" + hex(site.pcs.front());
  return model::describe(site);
}

std::string_view base_name(std::string_view path) {
  return path.substr(path.find_last_of('/') + 1);
}

std::string strip_path(std::string_view path, std::string_view prefix) {
  if (path.empty() || path.find('\0') != std::string_view::npos) return std::string(path);
  std::string normal = std::filesystem::path(path).lexically_normal().string();
  while (prefix.size() > 1 && prefix.ends_with('/')) prefix.remove_suffix(1);
  if (!prefix.empty() && normal.size() > prefix.size() && normal.starts_with(prefix) &&
      (normal[prefix.size()] == '/' || prefix == "/"))
    return normal.substr(prefix == "/" ? 1 : prefix.size() + 1);
  return normal;
}

}  // namespace deadheat::report
