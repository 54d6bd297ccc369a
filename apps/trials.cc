#include "apps/trials.h"

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <thread>

#include "apps/campaign_status.h"
#include "apps/launch.h"
#include "apps/runtime_options.h"
#include "apps/work_folder.h"
#include "lib/base/text.h"
#include "lib/model/json.h"

namespace deadheat::apps {
namespace {

namespace fs = std::filesystem;

constexpr std::array kStopping = {SIGINT, SIGTERM, SIGHUP};
volatile sig_atomic_t g_stopped = 0;

void stop(int /*signal*/) { g_stopped = g_stopped == 0 ? 1 : 2; }

const std::vector<std::string>& strategies() {
  static const std::vector<std::string> kAll = {"race_directed", "random", "pct", "pos"};
  return kAll;
}

std::string absolute(const std::string& path) {
  std::error_code error;
  const fs::path full = fs::absolute(path, error);
  return error ? path : full.lexically_normal().string();
}

// As the origin keeps it, so that a replay needs nothing else.
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
  origin.engine = "schedule " + options.strategy + " " + campaign::campaign_key(campaign);
  origin.arguments = words_of(options, campaign.target.directory);
  origin.input = shell_quoted(options.program);
  origin.counters = outcome.counters;
  origin.problems = outcome.problems;
  // A campaign that goes on replaces what it said of itself before.
  std::erase_if(file.origins,
                [&](const model::Origin& one) { return one.engine == origin.engine; });
  file.origins.push_back(std::move(origin));
}

}  // namespace

struct StopSignals::Before {
  std::array<struct sigaction, kStopping.size()> actions{};
};

StopSignals::StopSignals() : before_(std::make_unique<Before>()) {
  g_stopped = 0;
  struct sigaction action{};
  action.sa_handler = stop;
  for (size_t i = 0; i < kStopping.size(); ++i)
    ::sigaction(kStopping[i], &action, &before_->actions[i]);
}

StopSignals::~StopSignals() {
  for (size_t i = 0; i < kStopping.size(); ++i)
    ::sigaction(kStopping[i], &before_->actions[i], nullptr);
}

bool StopSignals::stopped() { return g_stopped != 0; }
bool StopSignals::insists() { return g_stopped > 1; }

void add_trial_options(CLI::App& app, TrialOptions& options) {
  app.add_option("--trials", options.trials, "at most so many trials for each candidate")
      ->type_name("N")
      ->check(CLI::Range(1, 1 << 24));
  app.add_option("--time", options.time_s,
                 "at most so long in all, finding included, building not; 0: no limit")
      ->type_name("SECONDS")
      ->check(CLI::Range(0.0, 1e9));
  app.add_option("--timeout", options.timeout_s,
                 "end a trial after so long; 0: ten times the slowest undisturbed run, at least 10")
      ->type_name("SECONDS")
      ->check(CLI::Range(0.0, 1e9));
  app.add_option("--jobs", options.jobs, "trials at the same time; 0: one a core")
      ->type_name("N")
      ->check(CLI::Range(0, 1024));
  app.add_option("--strategy", options.strategy, "who chooses the next thread")
      ->check(CLI::IsMember(strategies()));
  app.add_option("--depth", options.depth, "pct: how many switches a bug needs")
      ->type_name("N")
      ->check(CLI::Range(1, 1000));
  app.add_option("--seed", options.seed, "seed of the first trial; the next has the next number")
      ->type_name("N");
  app.add_option("--undisturbed", options.undisturbed,
                 "runs without interference, to compare exit status and output with")
      ->type_name("N")
      ->check(CLI::Range(1, 10000));
  app.add_option("--checker", options.checker,
                 "a program that is given OUTPUT ERRORS STATUS of a trial and fails if it is wrong")
      ->type_name("SCRIPT");
  app.add_option("--input", options.input,
                 "a file for the program's standard input (default: none)")
      ->type_name("FILE");
  app.add_option("--directory", options.directory, "run the program there (default: here)")
      ->type_name("FOLDER");
  app.add_option("--only", options.only, "try only this finding (DH-...); repeatable")
      ->type_name("ID")
      ->allow_extra_args(false)
      ->take_all();
  app.add_flag("--strict", options.strict,
               "fail for candidates too, not only for true races: as --fail-on candidate");
}

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
    if (!origin->engine.ends_with(" " + key)) continue;
    TrialOptions options;
    const auto& words = origin->arguments;
    const auto end = std::find(words.begin(), words.end(), "--");
    if (end != words.end()) options.program.assign(end + 1, words.end());
    for (auto word = words.begin(); word != end && word + 1 != end; word += 2) {
      if (*word == "--strategy") options.strategy = word[1];
      if (*word == "--directory") options.directory = word[1];
      if (*word == "--input") options.input = word[1];
      if (*word == "--checker") options.checker = word[1];
    }
    if (!options.program.empty()) return options;
  }
  return std::nullopt;
}

Result<campaign::Outcome> confirm_findings(model::FindingsFile& file, const TrialOptions& options,
                                           const std::string& path, const std::string& verb,
                                           const TimeBudget& budget, const Known& known) {
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
  CampaignStatus status;
  campaign.progress = [&](const campaign::Progress& progress) { status.update(progress); };
  campaign.say = [&](const std::string& line) { status.say(line); };
  campaign.stopped = [] { return StopSignals::stopped(); };
  if (!path.empty())
    campaign.save = [&](const model::FindingsFile& so_far) {
      model::FindingsFile copy = so_far;
      add_origin(copy, options, campaign, verb, {});
      (void)model::write_findings(path, copy);  // the last one is not tried in vain
    };
  const StopSignals signals;
  auto outcome = campaign::run_campaign(campaign, file);
  status.end();
  if (!outcome) return outcome.error();
  add_origin(file, options, campaign, verb, outcome.value());
  return outcome;
}

}  // namespace deadheat::apps
