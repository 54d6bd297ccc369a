#include "lib/process/findings/findings.h"

#include <algorithm>
#include <map>

#include "lib/base/text.h"
#include "lib/model/normalize.h"
#include "lib/process/findings/call_text.h"
#include "lib/process/findings/story.h"
#include "lib/process/recording/syscall_table.h"

namespace deadheat::process::findings {
namespace {

std::string call_name(const deadheat_process_event& head) {
  switch (head.kind) {
    case DEADHEAT_PROCESS_EXIT:
      return "exit";
    case DEADHEAT_PROCESS_SIGNAL_SENT:
      return "kill";
    case DEADHEAT_PROCESS_SIGNAL_DELIVERED:
      return "signal";
    default:
      return recording::syscall_name(head.number);
  }
}

const effects::Access* access_to(const effects::Model& model, uint32_t node, uint32_t object) {
  const effects::Node& one = model.nodes[node];
  const effects::Access* found = nullptr;
  for (uint32_t i = 0; i < one.accesses; i++) {
    const effects::Access& access = model.accesses[one.first_access + i];
    if (access.object == object && (found == nullptr || access.store)) found = &access;
  }
  return found;
}

model::AccessKind kind_of(const effects::Access* access) {
  if (access == nullptr) return model::AccessKind::kUnknown;
  if (access->role == effects::AccessRole::kWait) return model::AccessKind::kWait;
  if (access->role == effects::AccessRole::kWakeup) return model::AccessKind::kWakeup;
  return access->store ? model::AccessKind::kStore : model::AccessKind::kLoad;
}

model::Site site_of(const recording::Recording& recording, const effects::Model& model,
                    uint32_t node, uint32_t object, const trials::DrawnNames& drawn) {
  model::Site site;
  site.kind = model::SiteKind::kSyscall;
  site.program = model.programs[model.nodes[node].program];
  site.syscall =
      model::normalize_syscall(call_name(recording.events()[model.nodes[node].event].head()));
  site.object = model::normalize_object(drawn.masked(model.objects[object].name));
  return site;
}

std::string role_name(const races::ProcessRace& race, size_t index, model::AccessKind access) {
  if (race.kind == model::CandidateKind::kLoadStore) return index == 0 ? "first" : "second";
  const bool waits = access == model::AccessKind::kWait;
  const bool one_wait = race.kind == model::CandidateKind::kWaitWakeups;
  if (waits == one_wait) return waits ? "wait" : "wakeup";
  return std::string(waits ? "wait " : "wakeup ") + std::to_string(index);
}

model::Access access_of(const effects::Model& model, uint32_t node, uint32_t object) {
  const effects::Node& one = model.nodes[node];
  const effects::Task& task = model.tasks[one.task];
  model::Access access;
  access.kind = kind_of(access_to(model, node, object));
  access.location = model.objects[object].name;
  access.thread = "process " + std::to_string(task.process);
  if (!task.command.empty()) access.thread += " (" + command_text(task.command) + ")";
  access.event = one.event + 1;
  for (const effects::HeldLock& lock : model.lock_sets[one.locks])
    access.locks.push_back(model.objects[lock.object].name);
  return access;
}

// The actions of each process around its anchor, in the order that the branch enforced.
std::vector<model::Step> steps_of(const recording::Recording& recording,
                                  const effects::Model& model, const races::ProcessRace& race,
                                  const std::vector<uint32_t>& order,
                                  const trials::DrawnNames& drawn) {
  constexpr uint32_t kBefore = 3;
  std::vector<model::Step> steps;
  const auto role_of = [&](uint32_t node) {
    return static_cast<uint32_t>(std::find(race.anchors.begin(), race.anchors.end(), node) -
                                 race.anchors.begin());
  };
  const auto add = [&](uint32_t node, uint32_t role, bool racing) {
    // The object is the race's; in other steps the text mentions it.
    const model::Site site =
        racing ? site_of(recording, model, node, race.object, drawn) : model::Site{};
    steps.push_back(
        {role, call_text(recording, model, node).what, site, model.nodes[node].event + 1, racing});
  };
  for (const uint32_t anchor : order) {
    const effects::Task& task = model.tasks[model.nodes[anchor].task];
    const uint32_t place = model.nodes[anchor].position;  // from 1
    std::vector<uint32_t> before;
    for (uint32_t at = place - 1; at > 0 && before.size() < kBefore; at--)
      if (!is_beside(model, task.nodes[at - 1], race.object)) before.push_back(task.nodes[at - 1]);
    for (auto node = before.rbegin(); node != before.rend(); ++node)
      add(*node, role_of(anchor), false);
    add(anchor, role_of(anchor), true);
  }
  return steps;
}

// Identifies the branch and the branches it follows: "4.1", "4.1+0.2".
std::string name_of(const trials::Validation& validation, size_t index) {
  const trials::BranchResult& result = validation.results[index];
  const std::string own = std::to_string(result.branch.race) + "." +
                          std::to_string(static_cast<int>(result.branch.change));
  return result.after == trials::kNoResult ? own : name_of(validation, result.after) + "+" + own;
}

// The orders that were changed before this one, if there are several.
std::string before_that(const trials::Validation& validation, const trials::BranchResult& result) {
  std::string text;
  for (size_t at = result.after; at != trials::kNoResult; at = validation.results[at].after) {
    const trials::BranchResult& earlier = validation.results[at];
    text += "; and before that, on " + earlier.object + ", " + earlier.calls.back() +
            " had come before " + earlier.calls.front() + ": it takes both";
  }
  return text;
}

}  // namespace

std::vector<Cause> causes_of(const trials::Validation& validation) {
  std::map<std::string, size_t> seen;
  std::vector<Cause> causes;
  for (size_t i = 0; i < validation.results.size(); i++) {
    const trials::BranchResult& result = validation.results[i];
    if (!result.ran || !result.harmful()) continue;
    const auto [at, fresh] = seen.emplace(judge::what_broke(result.differences), causes.size());
    if (fresh) {
      causes.push_back({i, 0});
      continue;
    }
    Cause& cause = causes[at->second];
    cause.others++;
    if (result.compared && !validation.results[cause.result].compared) cause.result = i;
  }
  return causes;
}

model::Finding to_finding(const recording::Recording& recording, const effects::Model& model,
                          const races::ProcessRace& race, const trials::DrawnNames& drawn) {
  model::Finding finding;
  finding.candidate.kind = race.kind;
  finding.candidate.found_by = {"proc"};
  for (size_t i = 0; i < race.anchors.size(); i++) {
    model::Role role;
    role.site = site_of(recording, model, race.anchors[i], race.object, drawn);
    role.access = kind_of(access_to(model, race.anchors[i], race.object));
    role.name = role_name(race, i, role.access);
    finding.candidate.roles.push_back(std::move(role));
  }
  return finding;
}

model::Evidence to_evidence(const trials::Validation& validation, size_t index,
                            const std::string& execution, size_t others) {
  const trials::BranchResult& result = validation.results[index];
  const recording::Recording& recording = result.of->recording;
  const effects::Model& model = *result.of->model;
  const races::ProcessRace& race = result.of->races.races[result.branch.race];
  model::Evidence evidence;
  evidence.execution = execution + "/" + name_of(validation, index);
  evidence.id = evidence.execution;
  evidence.source = "proc";
  evidence.order = model::Order::kAlternate;
  evidence.trial = model::Trial{.confirmer = "branch", .wished = model::Order::kAlternate};
  if (!result.folder.empty()) {  // only harmful branches keep their folder
    evidence.trial->reproducer.kind = model::ReproducerKind::kBranch;
    evidence.trial->reproducer.recording = execution;
    evidence.trial->reproducer.branch = result.folder;
  }
  for (const uint32_t anchor : race.anchors)
    evidence.accesses.push_back(access_of(model, anchor, race.object));
  evidence.outcome = result.outcome;
  if (result.outcome == model::Outcome::kRace) evidence.ordered = model::Ordered::kNo;
  if (result.harmful()) {
    evidence.proof = model::Proof::kFailedBranch;
    evidence.consequence = result.differences.front().consequence;
    for (const judge::Difference& one : result.differences)
      evidence.differences.push_back(one.consequence);
    evidence.recorded = tell_story(recording, model, race.anchors, race.object);
    evidence.failed =
        tell_failed_story(recording, model, race, result.branch, result.folder + "/recording");
    evidence.steps = steps_of(recording, model, race, result.branch.order, validation.drawn);
    evidence.why =
        "no happens-before path between the calls: each can come first; in the recording " +
        effects::describe_node(model, recording, race.anchors[0]) + " did" +
        before_that(validation, result);
    if (others > 0)
      evidence.why += "; " + with_thousands(others) +
                      (others == 1 ? " other order breaks" : " other orders break") + " the same";
    evidence.repeat = "deadheat proc replay " + result.folder;
    // A comparison that proves it ran the order at least twice more (kLongRuns, one miss).
    evidence.repetitions = 1 + (result.repeated ? 1 : 0) + (result.compared ? 2 : 0);
  }
  if (!result.why.empty())
    evidence.why = evidence.why.empty() ? result.why : evidence.why + "; " + result.why;
  return evidence;
}

}  // namespace deadheat::process::findings
