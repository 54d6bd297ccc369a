#include "lib/pipeline/trials.h"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <thread>

#include "lib/base/find_program.h"
#include "lib/base/shell_words.h"
#include "lib/base/work_folder.h"
#include "lib/confirm/slurm.h"
#include "lib/model/json.h"
#include "lib/pipeline/launch.h"
#include "lib/pipeline/runtime_environment.h"
#include "lib/pipeline/stop_signals.h"
#include "lib/validate/validate.h"

namespace deadheat::pipeline {
namespace {

namespace fs = std::filesystem;

std::string absolute(const std::string& path) {
  std::error_code error;
  const fs::path full = fs::absolute(path, error);
  return error ? path : full.lexically_normal().string();
}

// The command line that reports show; a replay uses the origin's target instead.
std::vector<std::string> words_of(const TrialOptions& options, const std::string& directory) {
  std::vector<std::string> words = {"--strategy", options.strategy,
                                    "--seed",     std::to_string(options.seed),
                                    "--trials",   std::to_string(options.trials)};
  words.insert(words.end(), {"--directory", directory});
  if (!options.input.empty()) words.insert(words.end(), {"--input", absolute(options.input)});
  if (!options.checker.empty()) words.insert(words.end(), {"--checker", options.checker});
  words.emplace_back("--");
  words.insert(words.end(), options.program.begin(), options.program.end());
  return words;
}

void add_origin(model::FindingsFile& file, const TrialOptions& options,
                const schedule::Options& campaign, const std::string& verb,
                const schedule::Outcome& outcome) {
  model::Origin origin;
  origin.tool_version = DEADHEAT_VERSION;
  origin.verb = verb;
  origin.engine = "schedule";
  origin.strategy = options.strategy;
  origin.campaign = schedule::campaign_key(campaign);
  origin.target = {options.program, campaign.target.directory,
                   options.input.empty() ? "" : absolute(options.input), options.checker};
  origin.arguments = words_of(options, campaign.target.directory);
  origin.input = shell_quoted(options.program);
  origin.counters = outcome.counters;
  origin.problems = outcome.problems;
  // A resumed campaign replaces its previous origin.
  std::erase_if(file.origins,
                [&](const model::Origin& one) { return one.campaign == origin.campaign; });
  file.origins.push_back(std::move(origin));
}

}  // namespace

Result<std::string> this_program() {
  std::error_code error;
  struct stat mine = {}, there = {};
  ::stat("/proc/self/exe", &mine);
  for (const std::string& path : {fs::read_symlink("/proc/self/exe", error).string(),
                                  absolute(find_program(program_invocation_name))})
    if (::stat(path.c_str(), &there) == 0 && S_ISREG(there.st_mode) &&
        there.st_size == mine.st_size && there.st_mtim.tv_sec == mine.st_mtim.tv_sec &&
        there.st_mtim.tv_nsec == mine.st_mtim.tv_nsec)
      return path;
  return Error{"cannot find the file of deadheat itself, which the cluster's nodes run",
               "start it by its path"};
}

Result<OnCluster> start_on(const std::string& where, uint64_t workers) {
  const size_t colon = where.find(':');
  if (where.substr(0, colon) != "slurm")
    return Error{"nothing is known of a cluster of kind " + where, "--on slurm[:PARTITION]"};
  // All machines of the cluster must see this folder: use the current one, not /tmp.
  const auto program = this_program();
  if (!program) return program.error();
  auto folder = TemporaryFolder::create(absolute("."), "deadheat-cluster-");
  if (!folder) return folder.error();
  const std::string jobs = folder->folder() + "/jobs";
  std::error_code error;
  fs::create_directory(jobs, error);
  fs::permissions(jobs, fs::perms::owner_all, error);
  auto runner = confirm::SharedRunner::create(
      std::make_unique<confirm::Slurm>(colon == std::string::npos ? "" : where.substr(colon + 1)),
      jobs, {program.value(), kWorkerVerb}, workers);
  if (!runner) return runner.error();
  return OnCluster{std::move(*folder), std::move(*runner), program.value()};
}

std::string checker_command(const std::string& checker) {
  std::error_code error;
  return fs::is_regular_file(checker, error) ? shell_quoted({absolute(checker)}) : checker;
}

void settle_paths(TrialOptions& options) {
  if (!options.input.empty()) options.input = absolute(options.input);
  if (options.directory.empty()) return;
  options.directory = absolute(options.directory);
  std::string& program = options.program.at(0);
  if (program.find('/') != std::string::npos) program = absolute(program);
}

Result<confirm::Target> make_target(const TrialOptions& options) {
  const auto schedule = runtime_folder("schedule"), detect = runtime_folder("detect");
  if (!schedule) return schedule.error();
  if (!detect) return detect.error();
  confirm::Target target;
  target.program = options.program;
  target.directory = absolute(options.directory.empty() ? "." : options.directory);
  if (target.directory.size() > 1 && target.directory.ends_with('/')) target.directory.pop_back();
  std::error_code error;
  if (!fs::is_directory(target.directory, error))
    return Error{"no folder " + target.directory, "--directory names where the program runs"};
  if (!options.input.empty()) target.input = absolute(options.input);
  if (!options.input.empty() && !fs::exists(target.input, error))
    return Error{"cannot find " + target.input, "--input names a file for its standard input"};
  target.environment = [schedule = schedule.value(), detect = detect.value()](
                           const std::string& mode, const std::vector<std::string>& settings) {
    return std::map<std::string, std::string>{
        {"LD_LIBRARY_PATH", library_path(mode == "schedule"   ? schedule
                                         : mode == "validate" ? runtime_folder(mode).value()
                                                              : detect)},
        {"DEADHEAT_OPTIONS", runtime_environment(settings)}};
  };
  return target;
}

namespace {

// Runs the validator beside the scheduler if the program supports it. It sees what the scheduler
// cannot: the program running freely on all processors.
class Validating {
 public:
  Status begin(const TrialOptions& options, schedule::Options& campaign, model::FindingsFile& file,
               const Watcher& watcher) {
    if (!options.validate || campaign.runner != nullptr) return Ok{};  // not on a cluster
    auto work = WorkFolder::create();
    if (!work) return work.error();
    work_ = std::move(work).value();
    auto beside = make(options, campaign, file, watcher);
    if (!beside) {
      if (watcher.say) watcher.say("scheduled only, not validated: " + beside.error().message);
      return Ok{};
    }
    beside_ = std::move(beside).value();
    campaign.runner = runner_.get();
    campaign.beside = &beside_->confirmer();
    campaign.beside_ends = [this] { outcome_ = beside_->end(); };
    return Ok{};
  }

  // The scheduler tried what the validator did not finish; only the other counters are losses.
  void add_to(schedule::Outcome& outcome) const {
    for (const Counter& counter : outcome_.counters)
      if (!counter.is_untried) outcome.counters.push_back(counter);
    outcome.problems.insert(outcome.problems.end(), outcome_.problems.begin(),
                            outcome_.problems.end());
  }

 private:
  Result<std::unique_ptr<validate::Beside>> make(const TrialOptions& options,
                                                 const schedule::Options& campaign,
                                                 model::FindingsFile& file,
                                                 const Watcher& watcher) {
    if (const auto folder = runtime_folder("validate"); !folder) return folder.error();
    runner_ = std::make_unique<confirm::LocalRunner>();
    validate::Options how;
    how.target = campaign.target;
    how.binaries = {find_program(options.program.at(0))};
    how.timeout_s = options.timeout_s;
    how.time = campaign.time;
    how.checker = campaign.checker;
    how.only = campaign.only;
    how.runner = runner_.get();
    how.work = work_->path();
    how.repeat = "deadheat validate " + campaign.findings + " -- " + shell_quoted(options.program);
    how.say = watcher.say;
    return validate::Beside::create(std::move(how), file);
  }

  std::unique_ptr<WorkFolder> work_;
  std::unique_ptr<confirm::LocalRunner> runner_;
  std::unique_ptr<validate::Beside> beside_;
  validate::Outcome outcome_;
};

}  // namespace

std::string schedules_folder(const std::string& findings) { return findings + ".schedules"; }

std::optional<TrialOptions> options_of(const model::FindingsFile& file, const std::string& key) {
  for (auto origin = file.origins.rbegin(); origin != file.origins.rend(); ++origin) {
    if (origin->campaign != key || origin->target.program.empty()) continue;
    TrialOptions options;
    options.program = origin->target.program;
    options.directory = origin->target.directory;
    options.input = origin->target.input;
    options.checker = origin->target.checker;
    if (!origin->strategy.empty()) options.strategy = origin->strategy;
    return options;
  }
  return std::nullopt;
}

Result<schedule::Outcome> confirm(model::FindingsFile& file, const TrialOptions& options,
                                  const std::string& path, const std::string& verb,
                                  const TimeBudget& budget, const Known& known,
                                  const Watcher& watcher) {
  auto target = make_target(options);
  if (!target) return target.error();
  const auto work = WorkFolder::create();
  if (!work) return work.error();
  schedule::Options campaign;
  campaign.target = std::move(target).value();
  campaign.strategy = options.strategy;
  campaign.seed = options.seed;
  campaign.depth = options.depth;
  campaign.trials = options.trials;
  campaign.time = budget;
  campaign.timeout_s = options.timeout_s;
  campaign.took_s = known.took_s;
  campaign.never_ended = known.never_ended;
  campaign.jobs =
      options.jobs > 0 ? options.jobs : std::max(1U, std::thread::hardware_concurrency());
  campaign.undisturbed = options.undisturbed;
  campaign.checker = checker_command(options.checker);
  campaign.only = {options.only.begin(), options.only.end()};
  campaign.work = work.value()->path();
  OnCluster cluster;
  if (!options.on.empty()) {
    auto made = start_on(options.on, campaign.jobs);
    if (!made) return made.error();
    cluster = std::move(*made);
    campaign.runner = cluster.runner.get();
    campaign.work = cluster.folder.folder();
  }
  campaign.schedules = path.empty() ? "" : schedules_folder(absolute(path));
  campaign.findings = shell_quoted({path.empty() ? "findings.json" : path});
  campaign.progress = watcher.progress;
  campaign.say = watcher.say;
  campaign.stopped = [] { return StopSignals::stopped(); };
  if (!path.empty())
    campaign.save = [&](const model::FindingsFile& so_far) {
      model::FindingsFile copy = so_far;
      add_origin(copy, options, campaign, verb, {});
      (void)model::write_findings(path, copy);  // the final write reports errors
    };
  Validating validating;
  if (const Status begun = validating.begin(options, campaign, file, watcher); !begun)
    return begun.error();
  const StopSignals signals;
  auto outcome = schedule::run_campaign(campaign, file);
  if (!outcome) return outcome.error();
  validating.add_to(outcome.value());
  add_origin(file, options, campaign, verb, outcome.value());
  return outcome;
}

}  // namespace deadheat::pipeline
