// Handles a branch after its run.
#include <algorithm>
#include <filesystem>
#include <iterator>

#include "lib/base/file.h"
#include "lib/process/races/branch_json.h"
#include "lib/process/races/tighter_race.h"
#include "lib/process/replay/replay_clock.h"
#include "lib/process/trials/active.h"

namespace deadheat::process::trials {

namespace fs = std::filesystem;

namespace {

// The command's own end, or a checker's word. Output, files and what parts of the command made of
// their errors may well differ from run to run.
bool is_failed_end(const judge::Difference& one) {
  if (one.consequence.kind == model::ConsequenceKind::kExitStatus) return one.object.empty();
  return one.consequence.kind > model::ConsequenceKind::kExitStatus;
}

}  // namespace

// Stores the whole execution as a separate recording, with the original start.
Status Campaign::keep_recording(Active& active, const replay::RunReport& report) const {
  const std::string kept = recording_of(active.job, active.folder);
  if (const Status whole = active.keep(target_, report, kept); !whole) return whole;
  const std::string folder = kept + "/";
  for (const char* const name : {"stdin", "checkpoint", "checkpoint.json"}) {
    std::error_code failed;
    if (fs::exists(target_.recording->folder() + "/" + name, failed))
      fs::create_symlink(fs::path("../../..") / name, folder + name, failed);
    if (failed) return errno_error("cannot make", folder + name, failed.value());
  }
  for (const char* const name : {"out", "err"}) {
    std::error_code failed;
    fs::copy_file(active.folder + "/" + name, folder + name, failed);
  }
  return Ok{};
}

Status Campaign::keep(const BranchResult& result) {
  KeptResult kept = result;
  if (!kept.folder.empty()) kept.folder = fs::path(kept.folder).filename().string();
  return kept_.add(result.branch, kept);
}

Status Campaign::finish_again(Active& active, const replay::RunReport& report,
                              const Judged& judged) {
  BranchResult& result = out_.results[active.job.result];
  if (!result.harmful()) {  // was refuted meanwhile
    std::error_code gone;
    fs::remove_all(active.folder, gone);
    return Ok{};
  }
  result.repeated = judged.followed && (!judged.differences.empty() ||
                                        has_in_common(judged.as_undisturbed, result.differences));
  if (const Status kept = keep_recording(active, report); !kept) return kept;
  result.kept = true;
  std::error_code failed;
  fs::remove_all(active.folder, failed);
  return keep(result);
}

void Campaign::note_missing_peer(const std::vector<std::string>& peers) {
  for (const std::string& line : peers)
    if (std::find(out_.problems.begin(), out_.problems.end(), line) == out_.problems.end())
      out_.problems.push_back(line);
}

Result<std::optional<Campaign::Judged>> Campaign::judge_branch(const Active& active,
                                                               const replay::RunReport& report) {
  if (report.lost && engine_.over()) return std::optional<Judged>();
  Judged judged;
  // A failure caused by a missing peer is no harm.
  const bool alone = !report.trace.peers.empty();
  if (alone) note_missing_peer(report.trace.peers);
  judged.followed = report.replay.reached && !report.lost && !alone;
  if (!judged.followed) return std::optional(std::move(judged));
  auto shown = look_at(active, report);
  if (!shown) return shown.error();
  if (!*shown) return std::optional<Judged>();
  const auto& [outcome, words] = **shown;
  judged.differences = judge_run(outcome, words, out_.references);
  judged.as_undisturbed = failed_as_undisturbed(outcome, words, out_.references);
  return std::optional(std::move(judged));
}

Status Campaign::finish_branch(Active& active, const replay::RunReport& report) {
  auto judged = judge_branch(active, report);
  if (!judged) return judged.error();
  if (!*judged) {  // we ended it ourselves
    if (active.job.look == Look::kFirst) out_.not_run++;
    std::error_code failed;
    fs::remove_all(active.folder, failed);
    return Ok{};
  }
  switch (active.job.look) {
    case Look::kFirst:
      return finish_first(active, report, std::move(**judged));
    case Look::kAgain:
      return finish_again(active, report, **judged);
    case Look::kChanged:
    case Look::kRecorded:
      break;
  }
  return finish_compared(active, **judged);
}

Status Campaign::finish_first(Active& active, const replay::RunReport& report, Judged judged) {
  BranchResult& result = out_.results[active.job.result];
  result.seconds = report.seconds;
  result.live_from = report.replay.live_from;
  result.folder = active.folder;
  const bool breaks = !judged.differences.empty();
  if (judged.followed && !breaks && options_.depth > 1)  // its execution is examined later
    if (const Status kept = keep_recording(active, report); !kept) return kept;
  if (!breaks && !judged.as_undisturbed.empty() && is_flip(result.branch)) {
    compare(active.job.result, std::move(judged.as_undisturbed), true);
    return Ok{};
  }
  result.ran = true;
  counted_.decided++;
  if (breaks) {
    result.differences = std::move(judged.differences);
    compare_if_new(active.job.result);
    return harmful(result, active.job.result, false);
  }
  if (judged.followed) return benign(result);
  did_not_happen(result, report);
  counted_.diverged++;
  return forget_folder(result);
}

// "Cannot happen" needs a proof: the replayer's, or a tighter race that diverted the anchor's task.
// Without one the branch is inconclusive.
void Campaign::did_not_happen(BranchResult& result, const replay::RunReport& report) const {
  const replay::ReplayReport& replay = report.replay;
  const bool alone = !report.trace.peers.empty();
  result.outcome = model::Outcome::kDivergedUncontrolled;
  result.why = report.lost ? "the sandbox ended unexpectedly"
               : alone     ? report.trace.peers.front()
                           : replay.diverged;
  if (report.lost || alone) return;
  if (replay.divergence == replay::Divergence::kProven)
    result.outcome = model::Outcome::kDivergedInfeasible;
  if (replay.divergence != replay::Divergence::kOtherWay) return;
  const effects::Model& model = *result.of->model;
  const auto away = races::led_away(model, *result.of->graph, result.branch, replay.otherwise);
  if (!away) return;
  const recording::Recording& recording = result.of->recording;
  result.outcome = model::Outcome::kDivergedInfeasible;
  result.why += " when " + effects::describe_node(model, recording, away->later) + " came before " +
                effects::describe_node(model, recording, away->earlier);
}

Status Campaign::harmful(BranchResult& result, size_t index, bool compared) {
  result.outcome = model::Outcome::kRace;
  counted_.harmful++;
  jobs_.push_front(
      {replay::RunKind::kReplay, replay::SerialPolicy::kChildFirst, index, Look::kAgain});
  const UserCheckers& checkers = options_.checkers;
  const KeptJudgement judgement{checkers.after, checkers.beside, result.differences, compared};
  const Status judged = write_file(result.folder + "/judged.json", to_json(judgement), 0600);
  return judged ? write_file(result.folder + "/branch.json", to_json(result.branch), 0600) : judged;
}

Status Campaign::benign(BranchResult& result) {
  result.outcome = model::Outcome::kRace;
  std::error_code failed;
  if (fs::exists(result.folder + "/recording", failed)) {
    const Status named = write_file(result.folder + "/branch.json", to_json(result.branch), 0600);
    return named ? keep(result) : named;
  }
  return forget_folder(result);
}

Status Campaign::forget_folder(BranchResult& result) {
  std::error_code failed;
  fs::remove_all(result.folder, failed);
  result.folder.clear();
  return keep(result);
}

void Campaign::compare(size_t index, std::vector<judge::Difference> failed, bool also_undisturbed) {
  const auto [comparison, fresh] = comparisons_.emplace(
      index, Comparison(out_.results[index].branch, std::move(failed), also_undisturbed));
  const auto add = [&](Look look, int runs) {
    for (int i = 0; i < runs; i++)
      jobs_.push_front({replay::RunKind::kReplay, replay::SerialPolicy::kChildFirst, index, look});
  };
  add(Look::kChanged, comparison->second.wanted_changed());
  add(Look::kRecorded, Comparison::kRuns);
}

// Each consequence needs one order that certainly causes it. This is checked at once: when time
// runs out, every finding is proven or not.
void Campaign::compare_if_new(size_t index) {
  const BranchResult& result = out_.results[index];
  if (compared_.insert(judge::what_broke(result.differences)).second)
    compare(index, result.differences, false);
}

// If the first order turned out not to be the cause, another one may be.
Status Campaign::compare_rest(const std::vector<size_t>& results) {
  while (!engine_.over()) {
    for (const size_t index : results) {
      const BranchResult& result = out_.results[index];
      if (result.ran && result.harmful() && !result.compared) compare_if_new(index);
    }
    if (jobs_.empty()) return Ok{};
    if (const Status run = run_all(confirm::Stage::kTrials); !run) return run;
  }
  return Ok{};
}

// A failure that was not compared before time ran out is no finding: the order may not be its
// cause. The next campaign continues with it.
void Campaign::leave_open(const std::vector<size_t>& results) {
  for (const size_t index : results) {
    BranchResult& result = out_.results[index];
    if (!result.ran || !result.harmful() || result.compared) continue;
    // Another order with the same consequences was compared: it represents this one too.
    if (const auto same = proven_.find(judge::what_broke(result.differences));
        same != proven_.end()) {
      result.differences = same->second;
      continue;
    }
    result.ran = false;
    counted_.harmful--;
    out_.not_compared++;
    std::error_code failed;
    if (!result.kept) fs::remove_all(result.folder, failed);
  }
}

Status Campaign::finish_compared(Active& active, const Judged& judged) {
  std::error_code failed;
  fs::remove_all(active.folder, failed);
  const auto open = comparisons_.find(active.job.result);
  if (open == comparisons_.end()) return Ok{};  // was refuted meanwhile
  Comparison& comparison = open->second;
  const std::vector<judge::Difference>& broke =
      judged.as_undisturbed.empty() ? judged.differences : judged.as_undisturbed;
  if (active.job.look == Look::kChanged)
    comparison.add_changed(judged.followed, broke);
  else
    comparison.add_recorded(judged.followed, broke);
  return comparison.is_refuted() || comparison.is_proof() ? decided(active.job.result) : Ok{};
}

Status Campaign::decided(size_t index) {
  const Comparison comparison = std::move(comparisons_.extract(index).mapped());
  BranchResult& result = out_.results[index];
  const bool was_harmful = result.ran;  // otherwise it failed as undisturbed runs do
  result.compared = true;
  result.why = comparison.describe();
  if (!was_harmful) {
    result.ran = true;
    counted_.decided++;
    result.why += "; undisturbed in " + std::to_string(out_.references.failed_undisturbed) +
                  " of " + std::to_string(out_.references.undisturbed);
  }
  if (comparison.is_proof()) {
    std::vector<judge::Difference> proven = comparison.differences();
    if (was_harmful) proven_[judge::what_broke(result.differences)] = proven;
    result.differences = std::move(proven);
    if (was_harmful) return keep(result);
    return harmful(result, index, true);
  }
  jobs_.remove_if([&](const Job& job) {
    return job.kind == replay::RunKind::kReplay && job.result == index && job.look != Look::kFirst;
  });
  compared_.erase(judge::what_broke(result.differences));
  counted_.harmful -= was_harmful;
  if (was_harmful && comparison.fails_as_recorded())
    std::ranges::copy_if(result.differences, std::back_inserter(result.unexplained), is_failed_end);
  result.differences.clear();
  result.why +=
      comparison.fails_as_recorded() ? ": not by the order" : ": the order alone does not decide";
  if (comparison.fails_as_recorded()) return benign(result);
  result.outcome = model::Outcome::kDivergedUncontrolled;
  counted_.diverged++;
  return forget_folder(result);
}

}  // namespace deadheat::process::trials
