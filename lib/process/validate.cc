#include "lib/process/validate.h"

#include <poll.h>
#include <sched.h>
#include <sys/stat.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <list>

#include "lib/base/file.h"
#include "lib/process/judge/outcome.h"
#include "lib/process/judge/user_checker.h"
#include "lib/process/races/branch_json.h"
#include "lib/process/replay/replay_clock.h"
#include "lib/process/sandbox/checkpoint.h"

namespace deadheat::process {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

constexpr int64_t kSecond_ns = 1000000000;

std::vector<int> processors() {
  cpu_set_t set;
  std::vector<int> all;
  if (::sched_getaffinity(0, sizeof set, &set) != 0) return {0};
  for (int i = 0; i < CPU_SETSIZE; i++)
    if (CPU_ISSET(i, &set)) all.push_back(i);
  return all;
}

// What is to be run: a reference, or a branch.
struct Job {
  RunKind kind = RunKind::kUndisturbed;
  SerialPolicy policy = SerialPolicy::kChildFirst;
  size_t result = 0;   // kReplay: index in Validation::results
  bool again = false;  // kReplay: the second look at a failure
};

// More than another output: a status, an error, a crash, a hang.
bool fails(const std::vector<Difference>& differences) {
  return std::any_of(differences.begin(), differences.end(), [](const Difference& one) {
    return one.consequence.kind > model::ConsequenceKind::kOutputDiffers;
  });
}

class Campaign {
 public:
  Campaign(const Recording& recording, const Model& model, const ValidateOptions& options,
           Validation& out)
      : recording_(recording),
        model_(model),
        options_(options),
        out_(out),
        processors_(processors()) {
    const size_t jobs = options.jobs > 0 ? static_cast<size_t>(options.jobs) : processors_.size();
    slots_.assign(jobs, false);
  }

  Status look_at_checkpoint();
  Status add_recording();
  Status run_references();
  Status run_branches();

 private:
  struct Active {
    Job job;
    Run run;
    std::string folder;
    size_t slot = 0;
    int64_t started_ns = 0;
    Clock::time_point started;
  };

  Status run_all(std::list<Job> jobs);
  Status start(const Job& job);
  Status finish(Active& active, std::list<Job>& jobs);
  Status finish_branch(Active& active, RunReport report, std::list<Job>& jobs);
  Status ask_checkers(const Active& active, const RunReport& report,
                      std::vector<Difference>& differences) const;
  Result<Outcome> outcome_of(const std::string& folder, const RunReport& report,
                             int64_t started_ns) const;
  double timeout_s() const {
    return options_.timeout_s > 0 ? options_.timeout_s
                                  : std::max(10.0, 10 * recording_.info().seconds);
  }
  double left_s() const;
  bool stopped() const { return options_.stop != nullptr && options_.stop->load(); }
  void tell(const std::string& doing);

  const Recording& recording_;
  const Model& model_;
  const ValidateOptions& options_;
  Validation& out_;
  CheckpointState checkpoint_;
  std::vector<int> processors_;
  std::vector<bool> slots_;
  std::list<Active> active_;
  Clock::time_point started_ = Clock::now();
  size_t branches_ = 0, done_ = 0, harmful_ = 0, diverged_ = 0, number_ = 0;
};

double Campaign::left_s() const {
  if (options_.budget_s <= 0) return 1e9;
  return options_.budget_s - std::chrono::duration<double>(Clock::now() - started_).count();
}

void Campaign::tell(const std::string& doing) {
  if (!options_.progress) return;
  options_.progress({branches_, done_, harmful_, diverged_,
                     std::chrono::duration<double>(Clock::now() - started_).count(), doing});
}

Result<Outcome> Campaign::outcome_of(const std::string& folder, const RunReport& report,
                                     int64_t started_ns) const {
  RunMask mask;
  mask.pids = report.trace.processes;
  mask.times = {{recording_.info().started_ns / kSecond_ns,
                 recording_.info().started_ns / kSecond_ns +
                     static_cast<int64_t>(recording_.info().seconds) + 1},
                {started_ns / kSecond_ns, real_time_ns() / kSecond_ns + 1}};
  auto outcome = read_outcome(folder, mask);
  if (!outcome) return outcome.error();
  outcome->status = report.trace.status;
  outcome->signal = report.trace.signal;
  outcome->timed_out = report.trace.timed_out || !report.trace.stuck_as.empty() || report.lost;
  for (const FailedCommand& one : report.trace.failed)
    outcome->failures.push_back(make_failure(one.words, one.status, one.signal, mask));
  return outcome;
}

Status Campaign::look_at_checkpoint() {
  auto state = compare_checkpoint(recording_.folder());
  if (!state) return state.error();
  checkpoint_ = std::move(*state);
  if (!checkpoint_.there)
    out_.problems.push_back(
        "the recording has no checkpoint: its files are taken to be as they were");
  if (!checkpoint_.changed.empty())
    out_.problems.push_back(
        checkpoint_.changed.front() +
        (checkpoint_.changed.size() > 1
             ? " and " + std::to_string(checkpoint_.changed.size() - 1) + " more files are"
             : " is") +
        " not as when this was recorded");
  return Ok{};
}

Status Campaign::add_recording() {
  RunReport report;
  report.trace.status = recording_.info().status;
  report.trace.signal = recording_.info().signal;
  report.trace.timed_out = recording_.info().timed_out;
  for (const Task& task : model_.tasks)
    if (task.id == task.process) report.trace.processes.push_back(task.id);
  for (const Event& event : recording_.events()) {
    const deadheat_process_event& head = event.head();
    if (head.kind != DEADHEAT_PROCESS_EXIT || head.task != head.process || head.result == 0)
      continue;
    const auto task = std::find_if(model_.tasks.begin(), model_.tasks.end(),
                                   [&](const Task& one) { return one.id == head.task; });
    const int status = static_cast<int>(head.result);
    if (task != model_.tasks.end() && !task->command.empty())
      report.trace.failed.push_back({task->command, (status >> 8) & 0xff, status & 0x7f});
  }
  auto outcome = outcome_of(recording_.folder(), report, recording_.info().started_ns);
  if (!outcome) return outcome.error();
  out_.reference.add(std::move(*outcome));
  return Ok{};
}

Status Campaign::start(const Job& job) {
  RunSpec spec;
  spec.kind = job.kind;
  spec.policy = job.policy;
  spec.about = recording_.info();
  spec.folder = options_.work + "/run" + std::to_string(number_++);
  std::error_code failed;
  fs::remove_all(spec.folder, failed);
  fs::create_directories(spec.folder, failed);
  if (failed) return errno_error("cannot make", spec.folder, failed.value());
  const std::string input = recording_.folder() + "/stdin";
  if (fs::exists(input, failed)) spec.input = input;
  spec.timeout_s = timeout_s();
  spec.patience_s = std::max(3.0, 6 * recording_.info().seconds);
  spec.sandbox = options_.sandbox;
  spec.sandbox.host_network = false;
  spec.sandbox.host_name = recording_.info().host_name;
  if (!checkpoint_.layer.empty()) spec.sandbox.layers.push_back(checkpoint_.layer);
  const size_t slot =
      static_cast<size_t>(std::find(slots_.begin(), slots_.end(), false) - slots_.begin());
  if (job.kind != RunKind::kUndisturbed)
    spec.sandbox.processor = processors_[slot % processors_.size()];
  if (job.kind == RunKind::kReplay) {
    spec.recording = &recording_;
    spec.model = &model_;
    spec.branch = out_.results[job.result].branch;
    if (job.again) {
      auto writer = RecordingWriter::create(out_.results[job.result].folder + "/recording");
      if (!writer) return writer.error();
      spec.writer = std::make_shared<RecordingWriter>(std::move(*writer));
    }
  }
  const std::string folder = spec.folder;
  auto run = Run::start(std::move(spec));
  if (!run) return run.error();
  slots_[slot] = true;
  active_.push_back({job, std::move(*run), folder, slot, real_time_ns(), Clock::now()});
  return Ok{};
}

// The user's own checkers, on what the branch left.
Status Campaign::ask_checkers(const Active& active, const RunReport& report,
                              std::vector<Difference>& differences) const {
  for (const std::string& checker : options_.checkers) {
    CheckerRequest request;
    request.checker = {"/bin/sh", "-c", checker + " \"$@\"", "checker"};
    request.folder = active.folder;
    request.status = report.trace.signal != 0 ? 128 + report.trace.signal : report.trace.status;
    request.directory = recording_.info().directory;
    request.environment = recording_.info().environment;
    request.sandbox = active.run.spec().sandbox;
    auto said = run_checker(request);
    if (!said) return said.error();
    if (said->kind != model::ConsequenceKind::kNone) differences.push_back({*said, ""});
  }
  return Ok{};
}

Status Campaign::finish_branch(Active& active, RunReport report, std::list<Job>& jobs) {
  BranchResult& result = out_.results[active.job.result];
  std::vector<Difference> differences;
  const bool followed = report.replay.reached && !report.lost;
  if (followed) {
    auto outcome = outcome_of(active.folder, report, active.started_ns);
    if (!outcome) return outcome.error();
    differences = judge(*outcome, out_.reference);
    if (const Status asked = ask_checkers(active, report, differences); !asked) return asked;
  }
  std::error_code failed;
  if (active.job.again) {
    result.repeated = followed && !differences.empty();
    RecordingInfo info = recording_.info();
    info.source = "ptrace";
    info.started_ns = active.started_ns;
    info.seconds = report.seconds;
    info.events = report.trace.events;
    info.status = report.trace.status;
    info.signal = report.trace.signal;
    info.timed_out = report.trace.timed_out;
    if (const Status kept = active.run.spec().writer->finish(info); !kept) return kept;
    fs::remove_all(active.folder, failed);
    return Ok{};
  }
  result.run = std::move(report);
  result.ran = true;
  done_++;
  if (!followed) {
    result.why = result.run.lost ? "the sandbox ended unexpectedly" : result.run.replay.diverged;
    result.verdict =
        result.run.replay.infeasible ? BranchVerdict::kInfeasible : BranchVerdict::kUncontrolled;
    diverged_++;
  } else if (differences.empty()) {
    result.verdict = BranchVerdict::kBenign;
  } else {
    result.verdict = BranchVerdict::kHarmful;
    result.differences = std::move(differences);
    result.folder = active.folder;
    harmful_++;
    jobs.push_front({RunKind::kReplay, SerialPolicy::kChildFirst, active.job.result, true});
    return write_file(active.folder + "/branch.json", to_json(result.branch));
  }
  fs::remove_all(active.folder, failed);
  return Ok{};
}

Status Campaign::finish(Active& active, std::list<Job>& jobs) {
  auto report = active.run.finish();
  slots_[active.slot] = false;
  if (!report) return report.error();
  report->seconds = std::chrono::duration<double>(Clock::now() - active.started).count();
  if (active.job.kind == RunKind::kReplay) return finish_branch(active, std::move(*report), jobs);
  if (report->lost) {
    out_.problems.push_back("an undisturbed run was lost: the sandbox ended unexpectedly");
  } else {
    auto outcome = outcome_of(active.folder, *report, active.started_ns);
    if (!outcome) return outcome.error();
    // A serial run shows which orders are harmless, unless it fails itself: then the order is what
    // did it.
    const bool failed_itself = fails(judge(*outcome, out_.reference));
    const bool serial = active.job.kind == RunKind::kSerial;
    if (failed_itself) (serial ? out_.failed_serial_runs : out_.failed_undisturbed_runs)++;
    if (!failed_itself || !serial) out_.reference.add(std::move(*outcome));
  }
  std::error_code failed;
  fs::remove_all(active.folder, failed);
  return Ok{};
}

Status Campaign::run_all(std::list<Job> jobs) {
  while (!jobs.empty() || !active_.empty()) {
    const bool no_more = stopped() || left_s() <= 0;
    if (no_more) {
      for (const Job& job : jobs)
        if (job.kind == RunKind::kReplay && !job.again) out_.not_run++;
      jobs.clear();
    }
    while (!jobs.empty() && active_.size() < slots_.size()) {
      const Job job = jobs.front();
      jobs.pop_front();
      if (const Status begun = start(job); !begun) return begun;
    }
    if (stopped())
      for (Active& one : active_) one.run.kill();
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
    tell(branches_ == 0 ? "undisturbed and serial runs" : "branches");
  }
  return Ok{};
}

Status Campaign::run_references() {
  std::list<Job> jobs;
  for (int i = 0; i < options_.undisturbed; i++)
    jobs.push_back({RunKind::kUndisturbed, SerialPolicy::kChildFirst, 0, false});
  if (const Status run = run_all(std::move(jobs)); !run) return run;
  jobs.clear();
  for (const SerialPolicy policy :
       {SerialPolicy::kChildFirst, SerialPolicy::kOldestFirst, SerialPolicy::kNewestFirst})
    jobs.push_back({RunKind::kSerial, policy, 0, false});
  return run_all(std::move(jobs));
}

Status Campaign::run_branches() {
  std::list<Job> jobs;
  for (size_t i = 0; i < out_.results.size(); i++)
    jobs.push_back({RunKind::kReplay, SerialPolicy::kChildFirst, i, false});
  branches_ = jobs.size();
  return run_all(std::move(jobs));
}

}  // namespace

Result<Validation> validate(const Recording& recording, const Model& model, const Graph& graph,
                            const ProcessRaces& races, const ValidateOptions& options) {
  if (recording.info().in_place)
    return Error{"this recording was made in place: its start state is gone",
                 "record it again without --in-place"};
  Validation out;
  for (uint32_t race = 0; race < races.races.size(); race++) {
    for (Branch& branch : make_branches(model, graph, races.races[race], race)) {
      if (options.most_branches > 0 && out.results.size() == options.most_branches) {
        out.not_run++;
        continue;
      }
      BranchResult result;
      result.branch = std::move(branch);
      out.results.push_back(std::move(result));
    }
  }
  Campaign campaign(recording, model, options, out);
  if (const Status looked = campaign.look_at_checkpoint(); !looked) return looked.error();
  if (const Status added = campaign.add_recording(); !added) return added.error();
  if (const Status run = campaign.run_references(); !run) return run.error();
  if (const Status run = campaign.run_branches(); !run) return run.error();
  return out;
}

}  // namespace deadheat::process
