#include "apps/trials.h"

#include <CLI/CLI.hpp>

#include "abi/trial.h"
#include "apps/campaign_status.h"

namespace deadheat::apps {
namespace {

const std::vector<std::string>& strategies() {
  enum { user, host };
#define DEADHEAT_STRATEGY(name, object, chosen_by, meaning) {#name, (chosen_by) == user},
  constexpr std::pair<const char*, bool> kAll[] = {DHT_STRATEGIES(DEADHEAT_STRATEGY)};
#undef DEADHEAT_STRATEGY
  static const std::vector<std::string> for_users = [&] {
    std::vector<std::string> names;
    for (const auto& [name, chosen_by_user] : kAll)
      if (chosen_by_user) names.emplace_back(name);
    return names;
  }();
  return for_users;
}

}  // namespace

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
  app.add_option("--on", options.on,
                 "run trials on a cluster: slurm or slurm:PARTITION, as a job array of --jobs "
                 "workers; this folder must be there on all nodes")
      ->type_name("CLUSTER");
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
                 "a command that is given OUTPUT ERRORS STATUS FOLDER of a trial, fails if wrong")
      ->type_name("COMMAND");
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

Result<schedule::Outcome> confirm_findings(model::FindingsFile& file, const TrialOptions& options,
                                           const std::string& path, const std::string& verb,
                                           const TimeBudget& budget, const pipeline::Known& known) {
  CampaignStatus status;
  pipeline::Watcher watcher;
  watcher.progress = [&](const confirm::Progress& progress) { status.update(progress); };
  watcher.say = [&](const std::string& line) { status.say(line); };
  auto outcome = pipeline::confirm(file, options, path, verb, budget, known, watcher);
  status.end();
  return outcome;
}

}  // namespace deadheat::apps
