#include "apps/trials.h"

#include <CLI/CLI.hpp>

#include "apps/campaign_status.h"

namespace deadheat::apps {
namespace {

const std::vector<std::string>& strategies() {
  static const std::vector<std::string> kAll = {"race_directed", "random", "pct", "pos"};
  return kAll;
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

Result<campaign::Outcome> confirm_findings(model::FindingsFile& file, const TrialOptions& options,
                                           const std::string& path, const std::string& verb,
                                           const TimeBudget& budget, const pipeline::Known& known) {
  CampaignStatus status;
  pipeline::Watcher watcher;
  watcher.progress = [&](const campaign::Progress& progress) { status.update(progress); };
  watcher.say = [&](const std::string& line) { status.say(line); };
  auto outcome = pipeline::confirm(file, options, path, verb, budget, known, watcher);
  status.end();
  return outcome;
}

}  // namespace deadheat::apps
