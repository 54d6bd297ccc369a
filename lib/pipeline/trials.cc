#include "lib/pipeline/trials.h"

#include <algorithm>
#include <filesystem>
#include <thread>

#include "lib/base/shell_words.h"
#include "lib/base/work_folder.h"
#include "lib/model/json.h"
#include "lib/pipeline/launch.h"
#include "lib/pipeline/runtime_environment.h"
#include "lib/pipeline/stop_signals.h"

namespace deadheat::pipeline {
namespace {

namespace fs = std::filesystem;

std::string absolute(const std::string& path) {
  std::error_code error;
  const fs::path full = fs::absolute(path, error);
  return error ? path : full.lexically_normal().string();
}

// The command line as reports show it; a replay reads the origin's target instead.
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
                const campaign::Options& campaign, const std::string& verb,
                const campaign::Outcome& outcome) {
  model::Origin origin;
  origin.tool_version = DEADHEAT_VERSION;
  origin.verb = verb;
  origin.engine = "schedule";
  origin.strategy = options.strategy;
  origin.campaign = campaign::campaign_key(campaign);
  origin.target = {options.program, campaign.target.directory,
                   options.input.empty() ? "" : absolute(options.input), options.checker};
  origin.arguments = words_of(options, campaign.target.directory);
  origin.input = shell_quoted(options.program);
  origin.counters = outcome.counters;
  origin.problems = outcome.problems;
  // A campaign that goes on replaces what it said of itself before.
  std::erase_if(file.origins,
                [&](const model::Origin& one) { return one.campaign == origin.campaign; });
  file.origins.push_back(std::move(origin));
}

}  // namespace

void settle_paths(TrialOptions& options) {
  if (!options.input.empty()) options.input = absolute(options.input);
  if (options.directory.empty()) return;
  options.directory = absolute(options.directory);
  std::string& program = options.program.at(0);
  if (program.find('/') != std::string::npos) program = absolute(program);
}

Result<campaign::Target> make_target(const TrialOptions& options) {
  const auto schedule = runtime_folder("schedule"), detect = runtime_folder("detect");
  if (!schedule) return schedule.error();
  if (!detect) return detect.error();
  campaign::Target target;
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
        {"LD_LIBRARY_PATH", library_path(mode == "schedule" ? schedule : detect)},
        {"DEADHEAT_OPTIONS", runtime_environment(settings)}};
  };
  return target;
}

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

Result<campaign::Outcome> confirm(model::FindingsFile& file, const TrialOptions& options,
                                  const std::string& path, const std::string& verb,
                                  const TimeBudget& budget, const Known& known,
                                  const Watcher& watcher) {
  auto target = make_target(options);
  if (!target) return target.error();
  const auto work = WorkFolder::create();
  if (!work) return work.error();
  campaign::Options campaign;
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
  if (!options.checker.empty()) campaign.checker = absolute(options.checker);
  campaign.only = {options.only.begin(), options.only.end()};
  campaign.work = work.value()->path();
  campaign.schedules = path.empty() ? "" : schedules_folder(absolute(path));
  campaign.findings = shell_quoted({path.empty() ? "findings.json" : path});
  campaign.progress = watcher.progress;
  campaign.say = watcher.say;
  campaign.stopped = [] { return StopSignals::stopped(); };
  if (!path.empty())
    campaign.save = [&](const model::FindingsFile& so_far) {
      model::FindingsFile copy = so_far;
      add_origin(copy, options, campaign, verb, {});
      (void)model::write_findings(path, copy);  // the last one is not tried in vain
    };
  const StopSignals signals;
  auto outcome = campaign::run_campaign(campaign, file);
  if (!outcome) return outcome.error();
  add_origin(file, options, campaign, verb, outcome.value());
  return outcome;
}

}  // namespace deadheat::pipeline
