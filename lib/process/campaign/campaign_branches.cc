// What becomes of a branch that has run.
#include <filesystem>

#include "lib/base/file.h"
#include "lib/process/campaign/campaign.h"
#include "lib/process/races/branch_json.h"
#include "lib/process/races/tighter_race.h"
#include "lib/process/replay/replay_clock.h"

namespace deadheat::process {

namespace fs = std::filesystem;

// The whole execution as a recording of its own: it starts where the first one did.
Status Campaign::keep_recording(const Active& active, const RunReport& report) const {
  RecordingInfo info = target_.recording->info();
  info.source = "ptrace";
  info.started_ns = active.started_ns;
  info.seconds = report.seconds;
  info.events = report.trace.events;
  info.status = report.trace.status;
  info.signal = report.trace.signal;
  info.timed_out |= report.trace.timed_out;  // a server stays one, also if we ended it
  if (const Status kept = active.run.spec().writer->finish(info); !kept) return kept;
  const BranchResult& result = out_.results[active.job.result];
  const std::string folder =
      (active.job.look == Look::kAgain ? result.folder : active.folder) + "/recording/";
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
  const std::string folder =
      result.folder.empty() ? "" : fs::path(result.folder).filename().string();
  return kept_.add(result.branch, {result.verdict, result.why, result.differences, result.repeated,
                                   result.compared, folder, result.seconds, result.live_from});
}

Status Campaign::finish_again(Active& active, const RunReport& report, const Judged& judged) {
  BranchResult& result = out_.results[active.job.result];
  if (result.verdict != BranchVerdict::kHarmful) {  // was refuted while this ran
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
                                                               const RunReport& report) {
  if (report.lost && budget_.over()) return std::optional<Judged>();
  Judged judged;
  // What fails for want of a peer is no harm.
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

Status Campaign::finish_branch(Active& active, const RunReport& report, std::list<Job>& jobs) {
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
      return finish_first(active, report, std::move(**judged), jobs);
    case Look::kAgain:
      return finish_again(active, report, **judged);
    case Look::kChanged:
    case Look::kRecorded:
      break;
  }
  return finish_compared(active, **judged, jobs);
}

Status Campaign::finish_first(Active& active, const RunReport& report, Judged judged,
                              std::list<Job>& jobs) {
  BranchResult& result = out_.results[active.job.result];
  result.seconds = report.seconds;
  result.live_from = report.replay.live_from;
  result.folder = active.folder;
  const bool breaks = !judged.differences.empty();
  if (judged.followed && !breaks && budget_.options.depth > 1)  // its execution is looked at later
    if (const Status kept = keep_recording(active, report); !kept) return kept;
  if (!breaks && !judged.as_undisturbed.empty() && is_flip(result.branch)) {
    compare(active.job.result, std::move(judged.as_undisturbed), true, jobs);
    return Ok{};
  }
  result.ran = true;
  budget_.progress.done++;
  if (breaks) {
    result.differences = std::move(judged.differences);
    compare_if_new(active.job.result, jobs);
    return harmful(result, active.job.result, false, jobs);
  }
  if (judged.followed) return benign(result);
  did_not_happen(result, report);
  budget_.progress.diverged++;
  return forget_folder(result);
}

// "Cannot happen" needs a proof: the replayer's, or a tighter race that sent the anchor's task
// elsewhere. Without one the branch says nothing.
void Campaign::did_not_happen(BranchResult& result, const RunReport& report) const {
  const ReplayReport& replay = report.replay;
  const bool alone = !report.trace.peers.empty();
  result.verdict = BranchVerdict::kUncontrolled;
  result.why = report.lost ? "the sandbox ended unexpectedly"
               : alone     ? report.trace.peers.front()
                           : replay.diverged;
  if (report.lost || alone) return;
  if (replay.divergence == Divergence::kProven) result.verdict = BranchVerdict::kInfeasible;
  if (replay.divergence != Divergence::kOtherWay) return;
  const Model& model = *result.of->model;
  const auto away = led_away(model, *result.of->graph, result.branch, replay.otherwise);
  if (!away) return;
  const Recording& recording = result.of->recording;
  result.verdict = BranchVerdict::kInfeasible;
  result.why += " when " + describe_node(model, recording, away->later) + " came before " +
                describe_node(model, recording, away->earlier);
}

Status Campaign::harmful(BranchResult& result, size_t index, bool compared, std::list<Job>& jobs) {
  result.verdict = BranchVerdict::kHarmful;
  budget_.progress.harmful++;
  jobs.push_front({RunKind::kReplay, SerialPolicy::kChildFirst, index, Look::kAgain});
  const UserCheckers& checkers = budget_.options.checkers;
  const KeptJudgement judgement{checkers.after, checkers.beside, result.differences, compared};
  const Status judged = write_file(result.folder + "/judged.json", to_json(judgement), 0600);
  return judged ? write_file(result.folder + "/branch.json", to_json(result.branch), 0600) : judged;
}

Status Campaign::benign(BranchResult& result) {
  result.verdict = BranchVerdict::kBenign;
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

void Campaign::compare(size_t index, std::vector<Difference> failed, bool also_undisturbed,
                       std::list<Job>& jobs) {
  const auto [comparison, fresh] = comparisons_.emplace(
      index, Comparison(out_.results[index].branch, std::move(failed), also_undisturbed));
  const auto add = [&](Look look, int runs) {
    for (int i = 0; i < runs; i++)
      jobs.push_front({RunKind::kReplay, SerialPolicy::kChildFirst, index, look});
  };
  add(Look::kChanged, comparison->second.wanted_changed());
  add(Look::kRecorded, Comparison::kRuns);
}

// Each thing that broke needs one order that surely breaks it. That is seen at once: when the time
// is up, what was found is proven or not.
void Campaign::compare_if_new(size_t index, std::list<Job>& jobs) {
  const BranchResult& result = out_.results[index];
  if (compared_.insert(what_broke(result.differences)).second)
    compare(index, result.differences, false, jobs);
}

// Where the first order turned out not to be the cause, another one may be.
Status Campaign::confirm(const std::vector<size_t>& results) {
  while (!budget_.over()) {
    std::list<Job> jobs;
    for (const size_t index : results) {
      const BranchResult& result = out_.results[index];
      if (result.ran && result.verdict == BranchVerdict::kHarmful && !result.compared)
        compare_if_new(index, jobs);
    }
    if (jobs.empty()) return Ok{};
    if (const Status run = run_all(std::move(jobs)); !run) return run;
  }
  return Ok{};
}

// What failed, and was not compared when the time was over, is no finding: nobody knows whether it
// is the order that does it. The next campaign goes on with it.
void Campaign::leave_open(const std::vector<size_t>& results) {
  for (const size_t index : results) {
    BranchResult& result = out_.results[index];
    if (!result.ran || result.verdict != BranchVerdict::kHarmful || result.compared) continue;
    // Another order that broke the same was compared: it stands for this one, too.
    if (const auto same = proven_.find(what_broke(result.differences)); same != proven_.end()) {
      result.differences = same->second;
      continue;
    }
    result.ran = false;
    budget_.progress.harmful--;
    out_.not_compared++;
    std::error_code failed;
    if (!result.kept) fs::remove_all(result.folder, failed);
  }
}

Status Campaign::finish_compared(Active& active, const Judged& judged, std::list<Job>& jobs) {
  std::error_code failed;
  fs::remove_all(active.folder, failed);
  const auto open = comparisons_.find(active.job.result);
  if (open == comparisons_.end()) return Ok{};  // was refuted while this ran
  Comparison& comparison = open->second;
  const std::vector<Difference>& broke =
      judged.as_undisturbed.empty() ? judged.differences : judged.as_undisturbed;
  if (active.job.look == Look::kChanged)
    comparison.add_changed(judged.followed, broke);
  else
    comparison.add_recorded(judged.followed, broke);
  return comparison.is_refuted() || comparison.is_proof() ? decided(active.job.result, jobs) : Ok{};
}

Status Campaign::decided(size_t index, std::list<Job>& jobs) {
  const Comparison comparison = std::move(comparisons_.extract(index).mapped());
  BranchResult& result = out_.results[index];
  const bool was_harmful = result.ran;  // else it failed as undisturbed runs do
  result.compared = true;
  result.why = comparison.describe();
  if (!was_harmful) {
    result.ran = true;
    budget_.progress.done++;
    result.why += "; undisturbed in " + std::to_string(out_.references.failed_undisturbed) +
                  " of " + std::to_string(out_.references.undisturbed);
  }
  if (comparison.is_proof()) {
    std::vector<Difference> proven = comparison.differences();
    if (was_harmful) proven_[what_broke(result.differences)] = proven;
    result.differences = std::move(proven);
    if (was_harmful) return keep(result);
    return harmful(result, index, true, jobs);
  }
  jobs.remove_if([&](const Job& job) {
    return job.kind == RunKind::kReplay && job.result == index && job.look != Look::kFirst;
  });
  compared_.erase(what_broke(result.differences));
  budget_.progress.harmful -= was_harmful;
  result.differences.clear();
  result.why +=
      comparison.fails_as_recorded() ? ": not by the order" : ": the order alone does not decide";
  if (comparison.fails_as_recorded()) return benign(result);
  result.verdict = BranchVerdict::kUncontrolled;
  budget_.progress.diverged++;
  return forget_folder(result);
}

}  // namespace deadheat::process
