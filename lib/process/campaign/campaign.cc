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

Branch Campaign::as_recorded(const Branch& branch) const {
  std::vector<uint64_t> ends;
  for (const uint32_t node : branch.order)
    ends.push_back(target_.recording->events()[target_.model->nodes[node].event].head().end);
  return in_recorded_order(branch, ends);
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
    spec->branch = job.look == Look::kRecorded ? as_recorded(result.branch) : result.branch;
    const bool again = job.look == Look::kAgain;
    if (again || (job.look == Look::kFirst && budget_.options.depth > 1)) {
      const std::string kept = (again ? result.folder : folder) + "/recording";
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
    if (!failed_itself)
      references.known.add(std::move(*outcome));
    else if (!serial)
      references.by_itself.add(std::move(*outcome));
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
    const bool first = job->kind == RunKind::kReplay && job->look == Look::kFirst;
    if (!first && !at_once) {
      ++job;
      continue;
    }
    out_.not_run += first;
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
  out_.not_run += comparisons_.size();  // stopped before they were decided
  comparisons_.clear();
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
    jobs.push_back({RunKind::kUndisturbed, SerialPolicy::kChildFirst, 0, Look::kFirst});
  if (const Status run = run_all(std::move(jobs)); !run) return run;
  jobs.clear();
  for (const SerialPolicy policy :
       {SerialPolicy::kChildFirst, SerialPolicy::kOldestFirst, SerialPolicy::kNewestFirst})
    jobs.push_back({RunKind::kSerial, policy, 0, Look::kFirst});
  if (const Status run = run_all(std::move(jobs)); !run) return run;
  return budget_.stopped() ? Ok{} : write_file(path, to_json(references), 0600);
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
      jobs.push_back({RunKind::kReplay, SerialPolicy::kChildFirst, index, Look::kFirst});
      continue;
    }
    result.verdict = kept->verdict;
    result.why = kept->why;
    result.differences = kept->differences;
    result.repeated = kept->repeated;
    result.compared = kept->compared;
    result.seconds = kept->seconds;
    result.live_from = kept->live_from;
    if (!kept->folder.empty()) result.folder = work_ + "/" + kept->folder;
    result.ran = result.taken = true;
    budget_.progress.done++;
    budget_.progress.harmful += result.verdict == BranchVerdict::kHarmful;
    budget_.progress.diverged += result.verdict >= BranchVerdict::kInfeasible;
  }
  if (const Status run = run_all(std::move(jobs)); !run) return run;
  return confirm(results);
}

}  // namespace deadheat::process
