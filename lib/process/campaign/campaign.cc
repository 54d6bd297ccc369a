#include "lib/process/campaign/campaign.h"

#include <poll.h>

#include <algorithm>
#include <charconv>
#include <filesystem>

#include "lib/base/file.h"
#include "lib/base/processors.h"
#include "lib/process/races/branch_json.h"
#include "lib/process/replay/replay_clock.h"

namespace deadheat::process {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kRun = "run";

// More than another output: a status, an error, a crash, a hang.
bool fails(const std::vector<Difference>& differences) {
  return std::any_of(differences.begin(), differences.end(), [](const Difference& one) {
    return one.consequence.kind > model::ConsequenceKind::kOutputDiffers;
  });
}

}  // namespace

bool Budget::spent() const {
  return options.budget_s > 0 &&
         std::chrono::duration<double>(Clock::now() - started).count() >= options.budget_s;
}

void Budget::tell(const std::string& doing) {
  if (!options.progress) return;
  progress.seconds = std::chrono::duration<double>(Clock::now() - started).count();
  progress.doing = doing;
  options.progress(progress);
}

Campaign::Campaign(const Target& target, const std::string& work, Budget& budget, Validation& out,
                   KeptResults& kept)
    : target_(target),
      work_(work),
      budget_(budget),
      out_(out),
      kept_(kept),
      processors_(usable_processors()) {
  const int jobs = budget.options.jobs;
  slots_.assign(jobs > 0 ? static_cast<size_t>(jobs) : processors_.size(), false);
  forget_unfinished();
}

// Runs that a kill cut off; the next one gets a number that nobody has.
void Campaign::forget_unfinished() {
  std::error_code failed;
  for (const fs::directory_entry& entry : fs::directory_iterator(work_, failed)) {
    const std::string name = entry.path().filename().string();
    size_t number = 0;
    if (!name.starts_with(kRun) ||
        std::from_chars(name.data() + kRun.size(), name.data() + name.size(), number).ec !=
            std::errc{})
      continue;
    number_ = std::max(number_, number + 1);
    if (!fs::exists(entry.path() / "branch.json", failed)) fs::remove_all(entry.path(), failed);
  }
}

Status Campaign::start(const Job& job) {
  const auto free = std::find(slots_.begin(), slots_.end(), false);
  const auto slot = static_cast<size_t>(free - slots_.begin());
  const int processor =
      job.kind == RunKind::kUndisturbed ? -1 : processors_[slot % processors_.size()];
  const std::string folder = work_ + "/" + std::string(kRun) + std::to_string(number_++);
  auto spec = make_spec(target_, job.kind, folder, processor);
  if (!spec) return spec.error();
  spec->policy = job.policy;
  if (job.kind == RunKind::kReplay) {
    const BranchResult& result = out_.results[job.result];
    spec->branch = result.branch;
    if (job.again || budget_.options.depth > 1) {
      const std::string kept = (job.again ? result.folder : folder) + "/recording";
      std::error_code failed;
      fs::remove_all(kept, failed);
      auto writer = RecordingWriter::create(kept);
      if (!writer) return writer.error();
      spec->writer = std::make_shared<RecordingWriter>(std::move(*writer));
    }
  }
  auto run = Run::start(std::move(*spec));
  if (!run) return run.error();
  slots_[slot] = true;
  active_.push_back({job, std::move(*run), folder, slot, real_time_ns(), Budget::Clock::now()});
  return Ok{};
}

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
  const std::string folder = (active.job.again ? result.folder : active.folder) + "/recording/";
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
                                   folder, result.seconds, result.live_from});
}

Status Campaign::finish_again(Active& active, bool followed,
                              const std::vector<Difference>& differences, const RunReport& report) {
  BranchResult& result = out_.results[active.job.result];
  result.repeated = followed && !differences.empty();
  if (const Status kept = keep_recording(active, report); !kept) return kept;
  std::error_code failed;
  fs::remove_all(active.folder, failed);
  return keep(result);
}

void Campaign::note_missing_peer(const std::vector<std::string>& peers) {
  for (const std::string& line : peers)
    if (std::find(out_.problems.begin(), out_.problems.end(), line) == out_.problems.end())
      out_.problems.push_back(line);
}

Status Campaign::finish_branch(Active& active, const RunReport& report, std::list<Job>& jobs) {
  BranchResult& result = out_.results[active.job.result];
  std::error_code failed;
  if (report.lost && budget_.stopped()) {  // we killed it ourselves
    if (!active.job.again) out_.not_run++;
    fs::remove_all(active.folder, failed);
    return Ok{};
  }
  std::vector<Difference> differences;
  // What fails for want of a peer is no harm.
  const bool alone = !report.trace.peers.empty();
  const bool followed = report.replay.reached && !report.lost && !alone;
  if (alone) note_missing_peer(report.trace.peers);
  if (followed) {
    auto outcome = outcome_of(target_, active.folder, report, active.started_ns);
    if (!outcome) return outcome.error();
    auto words = ask_checkers(target_, budget_.options.checkers, active.folder, report);
    if (!words) return words.error();
    differences = judge_run(*outcome, *words, out_.references);
  }
  if (active.job.again) return finish_again(active, followed, differences, report);
  result.ran = true;
  result.seconds = report.seconds;
  result.live_from = report.replay.live_from;
  budget_.progress.done++;
  if (!followed) {
    result.why = report.lost ? "the sandbox ended unexpectedly"
                 : alone     ? report.trace.peers.front()
                             : report.replay.diverged;
    result.verdict = report.replay.infeasible && !alone ? BranchVerdict::kInfeasible
                                                        : BranchVerdict::kUncontrolled;
    budget_.progress.diverged++;
  } else if (!differences.empty()) {
    result.verdict = BranchVerdict::kHarmful;
    result.differences = std::move(differences);
    result.folder = active.folder;
    budget_.progress.harmful++;
    jobs.push_front({RunKind::kReplay, SerialPolicy::kChildFirst, active.job.result, true});
    const UserCheckers& checkers = budget_.options.checkers;
    const Status judged =
        write_file(active.folder + "/judged.json",
                   to_json(KeptJudgement{checkers.after, checkers.beside, result.differences}));
    return judged ? write_file(active.folder + "/branch.json", to_json(result.branch)) : judged;
  } else {
    result.verdict = BranchVerdict::kBenign;
    if (budget_.options.depth > 1) {  // its execution is looked at later
      result.folder = active.folder;
      if (const Status kept = keep_recording(active, report); !kept) return kept;
      const Status named = write_file(active.folder + "/branch.json", to_json(result.branch));
      return named ? keep(result) : named;
    }
  }
  fs::remove_all(active.folder, failed);
  return keep(result);
}

Status Campaign::finish_reference(Active& active, const RunReport& report) {
  References& references = out_.references;
  const bool serial = active.job.kind == RunKind::kSerial;
  if (report.lost && budget_.stopped()) {
    // We killed it ourselves: nothing was learnt.
  } else if (report.lost) {
    references.problems.push_back("an undisturbed run was lost: the sandbox ended unexpectedly");
  } else if (!report.trace.peers.empty()) {
    const std::string line = std::string(serial ? "a serial" : "an undisturbed") +
                             " run does not count: " + report.trace.peers.front();
    if (std::find(references.problems.begin(), references.problems.end(), line) ==
        references.problems.end())
      references.problems.push_back(line);
  } else {
    auto outcome = outcome_of(target_, active.folder, report, active.started_ns);
    if (!outcome) return outcome.error();
    auto words = ask_checkers(target_, budget_.options.checkers, active.folder, report);
    if (!words) return words.error();
    references.note(*words, serial);
    (serial ? references.serial : references.undisturbed)++;
    // A serial run shows which orders are harmless, unless it fails itself: then the order is what
    // did it.
    const bool failed_itself = fails(judge(*outcome, references.known));
    if (failed_itself) (serial ? references.failed_serial : references.failed_undisturbed)++;
    if (!failed_itself || !serial) references.known.add(std::move(*outcome));
  }
  std::error_code failed;
  fs::remove_all(active.folder, failed);
  return Ok{};
}

Status Campaign::finish(Active& active, std::list<Job>& jobs) {
  auto report = active.run.finish();
  slots_[active.slot] = false;
  if (!report) return report.error();
  report->seconds = std::chrono::duration<double>(Budget::Clock::now() - active.started).count();
  return active.job.kind == RunKind::kReplay ? finish_branch(active, *report, jobs)
                                             : finish_reference(active, *report);
}

// No time is left. References are made all the same, or a short budget would never come to an end
// of them; and a failure is looked at again, since it needs its recording. Not so when the user
// wants us to stop.
void Campaign::drop(std::list<Job>& jobs) {
  const bool at_once = budget_.stopped();
  for (auto job = jobs.begin(); job != jobs.end();) {
    if ((job->again || job->kind != RunKind::kReplay) && !at_once) {
      ++job;
      continue;
    }
    if (job->kind == RunKind::kReplay && !job->again) out_.not_run++;
    job = jobs.erase(job);
  }
}

Status Campaign::wait_for_some(std::list<Job>& jobs) {
  std::vector<pollfd> waiting;
  for (const Active& one : active_) waiting.push_back({one.run.done_fd(), POLLIN, 0});
  ::poll(waiting.data(), waiting.size(), 200);
  size_t index = 0;
  for (auto one = active_.begin(); one != active_.end(); index++) {
    if (waiting[index].revents == 0) {
      ++one;
      continue;
    }
    if (const Status ended = finish(*one, jobs); !ended) return ended;
    one = active_.erase(one);
  }
  return Ok{};
}

Status Campaign::run_all(std::list<Job> jobs) {
  while (!jobs.empty() || !active_.empty()) {
    if (budget_.stopped() || budget_.spent()) drop(jobs);
    while (!jobs.empty() && active_.size() < slots_.size()) {
      const Job job = jobs.front();
      jobs.pop_front();
      if (const Status begun = start(job); !begun) return begun;
    }
    if (budget_.stopped())
      for (Active& one : active_) one.run.kill();
    if (const Status waited = wait_for_some(jobs); !waited) return waited;
    budget_.tell(budget_.progress.branches == 0 ? "undisturbed and serial runs" : "branches");
  }
  return Ok{};
}

Status Campaign::run_references(const std::string& key) {
  References& references = out_.references;
  const std::string path = work_ + "/reference.json";
  if (auto text = read_file(path)) {
    auto kept = parse_references(*text, path);
    if (kept && kept->key == key) {
      references = std::move(*kept);
      return Ok{};
    }
  }
  references.key = key;
  // With a checker beside it, a server is ended in good order: that its recording had to be cut off
  // says nothing then.
  if (target_.beside.empty() || !target_.recording->info().timed_out) {
    auto recorded = outcome_of_recording(target_);
    if (!recorded) return recorded.error();
    references.known.add(std::move(*recorded));
  }
  std::list<Job> jobs;
  for (int i = 0; i < budget_.options.undisturbed; i++)
    jobs.push_back({RunKind::kUndisturbed, SerialPolicy::kChildFirst, 0, false});
  if (const Status run = run_all(std::move(jobs)); !run) return run;
  jobs.clear();
  for (const SerialPolicy policy :
       {SerialPolicy::kChildFirst, SerialPolicy::kOldestFirst, SerialPolicy::kNewestFirst})
    jobs.push_back({RunKind::kSerial, policy, 0, false});
  if (const Status run = run_all(std::move(jobs)); !run) return run;
  return budget_.stopped() ? Ok{} : write_file(path, to_json(references));
}

Status Campaign::run_branches(const std::vector<size_t>& results) {
  std::list<Job> jobs;
  for (const size_t index : results) {
    BranchResult& result = out_.results[index];
    budget_.progress.branches++;
    const KeptResult* const kept = kept_.find(result.branch);
    std::error_code failed;
    const bool there = kept != nullptr && (kept->verdict != BranchVerdict::kHarmful ||
                                           fs::exists(work_ + "/" + kept->folder, failed));
    if (!there) {
      jobs.push_back({RunKind::kReplay, SerialPolicy::kChildFirst, index, false});
      continue;
    }
    result.verdict = kept->verdict;
    result.why = kept->why;
    result.differences = kept->differences;
    result.repeated = kept->repeated;
    result.seconds = kept->seconds;
    result.live_from = kept->live_from;
    if (!kept->folder.empty()) result.folder = work_ + "/" + kept->folder;
    result.ran = result.taken = true;
    budget_.progress.done++;
    budget_.progress.harmful += result.verdict == BranchVerdict::kHarmful;
    budget_.progress.diverged += result.verdict >= BranchVerdict::kInfeasible;
  }
  return run_all(std::move(jobs));
}

}  // namespace deadheat::process
