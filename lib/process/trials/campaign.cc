#include "lib/process/trials/campaign.h"

#include <algorithm>
#include <charconv>
#include <filesystem>

#include "lib/base/file.h"
#include "lib/process/races/branch_json.h"
#include "lib/process/trials/active.h"

namespace deadheat::process::trials {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kRun = "run";

}  // namespace

Campaign::Campaign(const Target& target, const std::string& work, const ValidateOptions& options,
                   confirm::Engine& engine, confirm::Progress& counted, Validation& out,
                   KeptResults& kept)
    : target_(target),
      work_(work),
      options_(options),
      engine_(engine),
      out_(out),
      kept_(kept),
      counted_(counted) {
  forget_unfinished();
}

// Removes runs that a kill cut off; the next run gets an unused number.
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

races::Branch Campaign::as_recorded(const races::Branch& branch) const {
  std::vector<uint64_t> ends;
  for (const uint32_t node : branch.order)
    ends.push_back(target_.recording->events()[target_.model->nodes[node].event].head().end);
  return in_recorded_order(branch, ends);
}

Result<std::unique_ptr<confirm::Execution>> Campaign::start(confirm::Stage,
                                                            const confirm::Slot& slot) {
  if (jobs_.empty()) return std::unique_ptr<confirm::Execution>();
  const Job job = jobs_.front();
  jobs_.pop_front();
  const std::string folder = work_ + "/" + std::string(kRun) + std::to_string(number_++);
  if (options_.elsewhere.runner != nullptr) return start_elsewhere(job, folder);
  return start_here(job, folder, job.kind == replay::RunKind::kUndisturbed ? -1 : slot.processor);
}

races::Branch Campaign::branch_of(const Job& job) const {
  const races::Branch& branch = out_.results[job.result].branch;
  return job.look == Look::kRecorded ? as_recorded(branch) : branch;
}

bool Campaign::keeps(const Job& job) const {
  return job.kind == replay::RunKind::kReplay &&
         (job.look == Look::kAgain || (job.look == Look::kFirst && options_.depth > 1));
}

std::string Campaign::recording_of(const Job& job, const std::string& folder) const {
  return (job.look == Look::kAgain ? out_.results[job.result].folder : folder) + "/recording";
}

Result<std::unique_ptr<confirm::Execution>> Campaign::start_here(const Job& job,
                                                                 const std::string& folder,
                                                                 int processor) {
  auto spec = make_spec(target_, job.kind, folder, processor);
  if (!spec) return spec.error();
  spec->policy = job.policy;
  if (job.kind == replay::RunKind::kReplay) spec->branch = branch_of(job);
  if (keeps(job)) {
    const std::string kept = recording_of(job, folder);
    std::error_code failed;
    fs::remove_all(kept, failed);
    auto writer = recording::RecordingWriter::create(kept);
    if (!writer) return writer.error();
    spec->writer = std::make_shared<recording::RecordingWriter>(std::move(*writer));
  }
  auto run = replay::Run::start(std::move(*spec));
  if (!run) return run.error();
  return std::unique_ptr<confirm::Execution>(std::make_unique<Here>(job, std::move(*run), folder));
}

// A worker of the cluster starts this tool again, which carries the order out (run_order.h).
Result<std::unique_ptr<confirm::Execution>> Campaign::start_elsewhere(const Job& job,
                                                                      const std::string& folder) {
  RunOrder order;
  order.recording = target_.recording->folder();
  order.folder = folder;
  order.kind = job.kind;
  order.policy = job.policy;
  if (job.kind == replay::RunKind::kReplay) order.branch = branch_of(job);
  order.keeps = keeps(job);
  const std::string path = folder + Elsewhere::kOrder;
  if (const Status written = write_file(path, to_json(order, target_), 0600); !written)
    return written.error();
  confirm::ChildRequest request;
  request.command = options_.elsewhere.command;
  request.command.push_back(path);
  request.folder = folder + ".job";
  std::error_code failed;
  fs::create_directory(request.folder, failed);
  if (failed) return errno_error("cannot make", request.folder, failed.value());
  auto execution = options_.elsewhere.runner->start(request);
  if (!execution) return execution.error();
  return std::unique_ptr<confirm::Execution>(
      std::make_unique<Elsewhere>(job, std::move(*execution), folder));
}

Result<std::optional<Campaign::Shown>> Campaign::look_at(const Active& active,
                                                         const replay::RunReport& report) {
  if (report.lost && engine_.over()) return std::optional<Shown>();
  auto outcome = outcome_of(target_, active.folder, report, active.started_ns);
  if (!outcome) return outcome.error();
  auto words =
      ask_checkers(target_, options_.checkers, active.folder, report, options_.time.left_s());
  // A checker that we cut off says nothing.
  if (options_.time.over() && !options_.checkers.all().empty()) return std::optional<Shown>();
  if (!words) return words.error();
  return std::optional<Shown>(Shown{std::move(*outcome), std::move(*words)});
}

// A serial run shows which orders are harmless, unless it fails itself: then its order is the
// cause.
void Campaign::note_reference(Shown shown, bool serial) {
  References& references = out_.references;
  references.note(shown.words, serial);
  (serial ? references.serial : references.undisturbed)++;
  const bool failed_itself = judge::fails(judge::judge(shown.outcome, references.known));
  if (failed_itself) (serial ? references.failed_serial : references.failed_undisturbed)++;
  if (!failed_itself)
    references.known.add(std::move(shown.outcome));
  else if (!serial)
    references.by_itself.add(std::move(shown.outcome));
}

Status Campaign::finish_reference(Active& active, const replay::RunReport& report) {
  References& references = out_.references;
  const bool serial = active.job.kind == replay::RunKind::kSerial;
  if (serial && !report.lost) references.made.push_back(report.made);
  if (report.lost && !engine_.over()) {
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

// Also for runs that were cut off: their sandbox reports that it was lost.
Status Campaign::finish(confirm::Stage, confirm::Execution& execution, bool cut_off) {
  auto& active = static_cast<Active&>(execution);
  auto report = active.report(cut_off);
  if (!report) return report.error();
  return active.job.kind == replay::RunKind::kReplay ? finish_branch(active, *report)
                                                     : finish_reference(active, *report);
}

void Campaign::describe(confirm::Progress& progress) const {
  progress.candidates += counted_.candidates;
  progress.decided += counted_.decided;
  progress.harmful += counted_.harmful;
  progress.diverged += counted_.diverged;
}

Status Campaign::run_all(confirm::Stage stage) {
  if (const Status run = engine_.run(stage, {this}); !run) return run;
  // No time is left, or the user wants to stop.
  for (const Job& job : jobs_)
    out_.not_run += job.kind == replay::RunKind::kReplay && job.look == Look::kFirst;
  jobs_.clear();
  // leave_open() counts those of failed orders.
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
  // With a checker beside it, a server is ended normally: then it says nothing that its recording
  // had to be cut off.
  if (begins && (target_.beside.empty() || !target_.recording->info().timed_out)) {
    auto recorded = outcome_of_recording(target_);
    if (!recorded) return recorded.error();
    references.known.add(std::move(*recorded));
  }
  for (auto i = static_cast<int>(references.undisturbed); i < options_.undisturbed; i++)
    jobs_.push_back(
        {replay::RunKind::kUndisturbed, replay::SerialPolicy::kChildFirst, 0, Look::kFirst});
  if (const Status run = run_all(confirm::Stage::kUndisturbed); !run) return run;
  constexpr replay::SerialPolicy kPolicies[] = {replay::SerialPolicy::kChildFirst,
                                                replay::SerialPolicy::kOldestFirst,
                                                replay::SerialPolicy::kNewestFirst};
  for (size_t i = references.serial; i < std::size(kPolicies); i++)
    jobs_.push_back({replay::RunKind::kSerial, kPolicies[i], 0, Look::kFirst});
  if (const Status run = run_all(confirm::Stage::kSerial); !run) return run;
  references.complete = !engine_.over();
  return write_file(path, to_json(references), 0600);
}

Status Campaign::run_branches(const std::vector<size_t>& results) {
  for (const size_t index : results) {
    BranchResult& result = out_.results[index];
    counted_.candidates++;
    const KeptResult* const kept = kept_.find(result.branch);
    std::error_code failed;
    const bool there =
        kept != nullptr && (!kept->harmful() || fs::exists(work_ + "/" + kept->folder, failed));
    if (!there) {
      jobs_.push_back(
          {replay::RunKind::kReplay, replay::SerialPolicy::kChildFirst, index, Look::kFirst});
      continue;
    }
    static_cast<KeptResult&>(result) = *kept;
    if (!kept->folder.empty()) result.folder = work_ + "/" + kept->folder;
    result.ran = result.taken = result.kept = true;
    counted_.decided++;
    counted_.harmful += result.harmful();
    counted_.diverged += result.outcome != model::Outcome::kRace;
  }
  for (const size_t index : results) {
    const BranchResult& result = out_.results[index];
    if (result.ran && result.harmful() && result.compared)
      compared_.insert(judge::what_broke(result.differences));
  }
  if (const Status run = run_all(confirm::Stage::kTrials); !run) return run;
  const Status compared = compare_rest(results);
  leave_open(results);
  return compared;
}

}  // namespace deadheat::process::trials
