#include "lib/process/campaign/campaign.h"

#include <poll.h>

#include <algorithm>
#include <charconv>
#include <filesystem>

#include "lib/base/file.h"
#include "lib/process/races/branch_json.h"
#include "lib/process/replay/replay_clock.h"

namespace deadheat::process {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kRun = "run";

}  // namespace

void Budget::tell(const std::string& doing) {
  if (!options.progress) return;
  progress.seconds = std::chrono::duration<double>(Clock::now() - started).count();
  progress.doing = doing;
  options.progress(progress);
}

Campaign::Campaign(const Target& target, const std::string& work, Budget& budget, Validation& out,
                   KeptResults& kept)
    : target_(target), work_(work), budget_(budget), out_(out), kept_(kept) {
  const int jobs = budget.options.jobs;
  slots_.assign(jobs > 0 ? static_cast<size_t>(jobs) : budget.processors.processors().size(),
                false);
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
  const std::vector<int>& processors = budget_.processors.processors();
  const int processor =
      job.kind == RunKind::kUndisturbed ? -1 : processors[slot % processors.size()];
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

Result<std::optional<Campaign::Shown>> Campaign::look_at(const Active& active,
                                                         const RunReport& report) {
  if (report.lost && budget_.over()) return std::optional<Shown>();
  auto outcome = outcome_of(target_, active.folder, report, active.started_ns);
  if (!outcome) return outcome.error();
  auto words = ask_checkers(target_, budget_.options.checkers, active.folder, report,
                            budget_.options.time.left_s());
  // A checker that we cut off says nothing.
  if (budget_.options.time.over() && !budget_.options.checkers.all().empty())
    return std::optional<Shown>();
  if (!words) return words.error();
  return std::optional<Shown>(Shown{std::move(*outcome), std::move(*words)});
}

// A serial run shows which orders are harmless, unless it fails itself: then the order is what did
// it.
void Campaign::note_reference(Shown shown, bool serial) {
  References& references = out_.references;
  references.note(shown.words, serial);
  (serial ? references.serial : references.undisturbed)++;
  const bool failed_itself = fails(judge(shown.outcome, references.known));
  if (failed_itself) (serial ? references.failed_serial : references.failed_undisturbed)++;
  if (!failed_itself)
    references.known.add(std::move(shown.outcome));
  else if (!serial)
    references.by_itself.add(std::move(shown.outcome));
}

Status Campaign::finish_reference(Active& active, const RunReport& report) {
  References& references = out_.references;
  const bool serial = active.job.kind == RunKind::kSerial;
  if (serial && !report.lost) references.made.push_back(report.made);
  if (report.lost && !budget_.over()) {
    references.problems.push_back("an undisturbed run was lost: the sandbox ended unexpectedly");
  } else if (!report.trace.peers.empty()) {
    const std::string line = std::string(serial ? "a serial" : "an undisturbed") +
                             " run does not count: " + report.trace.peers.front();
    if (std::find(references.problems.begin(), references.problems.end(), line) ==
        references.problems.end())
      references.problems.push_back(line);
  } else {
    auto shown = look_at(active, report);
    if (!shown) return shown.error();
    if (*shown) note_reference(std::move(**shown), serial);
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

// No time is left, or the user wants us to stop.
void Campaign::drop(std::list<Job>& jobs) {
  for (const Job& job : jobs)
    out_.not_run += job.kind == RunKind::kReplay && job.look == Look::kFirst;
  jobs.clear();
  for (Active& one : active_) one.run.kill();
}

Status Campaign::wait_for_some(std::list<Job>& jobs) {
  std::vector<pollfd> waiting;
  for (const Active& one : active_) waiting.push_back({one.run.done_fd(), POLLIN, 0});
  // How soon a stop is seen; the end of the time is met exactly.
  constexpr int kLook_ms = 200;
  const double left_ms = 1000 * budget_.options.time.left_s();
  const bool soon = !budget_.over() && left_ms < kLook_ms;
  ::poll(waiting.data(), waiting.size(), soon ? static_cast<int>(left_ms) + 1 : kLook_ms);
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
    if (budget_.over()) drop(jobs);
    while (!jobs.empty() && active_.size() < slots_.size()) {
      const Job job = jobs.front();
      jobs.pop_front();
      if (const Status begun = start(job); !begun) return begun;
    }
    if (const Status waited = wait_for_some(jobs); !waited) return waited;
    budget_.tell(budget_.progress.branches == 0 ? "undisturbed and serial runs" : "branches");
  }
  // Those of orders that failed are counted by leave_open().
  for (const auto& [index, open] : comparisons_) out_.not_run += !out_.results[index].ran;
  comparisons_.clear();
  return Ok{};
}

Status Campaign::run_references(const std::string& key) {
  References& references = out_.references;
  const std::string path = work_ + "/reference.json";
  if (auto text = read_file(path)) {
    auto kept = parse_references(*text, path);
    if (kept && kept->key == key) references = std::move(*kept);
  }
  if (references.complete) return Ok{};
  const bool begins = references.key.empty();
  references.key = key;
  // With a checker beside it, a server is ended in good order: that its recording had to be cut off
  // says nothing then.
  if (begins && (target_.beside.empty() || !target_.recording->info().timed_out)) {
    auto recorded = outcome_of_recording(target_);
    if (!recorded) return recorded.error();
    references.known.add(std::move(*recorded));
  }
  std::list<Job> jobs;
  for (auto i = static_cast<int>(references.undisturbed); i < budget_.options.undisturbed; i++)
    jobs.push_back({RunKind::kUndisturbed, SerialPolicy::kChildFirst, 0, Look::kFirst});
  if (const Status run = run_all(std::move(jobs)); !run) return run;
  jobs.clear();
  constexpr SerialPolicy kPolicies[] = {SerialPolicy::kChildFirst, SerialPolicy::kOldestFirst,
                                        SerialPolicy::kNewestFirst};
  for (size_t i = references.serial; i < std::size(kPolicies); i++)
    jobs.push_back({RunKind::kSerial, kPolicies[i], 0, Look::kFirst});
  if (const Status run = run_all(std::move(jobs)); !run) return run;
  references.complete = !budget_.over();
  return write_file(path, to_json(references), 0600);
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
    result.ran = result.taken = result.kept = true;
    budget_.progress.done++;
    budget_.progress.harmful += result.verdict == BranchVerdict::kHarmful;
    budget_.progress.diverged += result.verdict >= BranchVerdict::kInfeasible;
  }
  for (const size_t index : results) {
    const BranchResult& result = out_.results[index];
    if (result.ran && result.verdict == BranchVerdict::kHarmful && result.compared)
      compared_.insert(what_broke(result.differences));
  }
  if (const Status run = run_all(std::move(jobs)); !run) return run;
  const Status confirmed = confirm(results);
  leave_open(results);
  return confirmed;
}

}  // namespace deadheat::process
