// Confirm: a campaign of trials over findings, and what its trials are run with.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "lib/base/result.h"
#include "lib/base/time_budget.h"
#include "lib/model/finding.h"
#include "lib/schedule/campaign.h"

namespace deadheat::pipeline {

// Starts a worker of a campaign on a cluster, with its folder as one word more.
inline constexpr char kWorkerVerb[] = "worker";

struct TrialOptions {
  std::vector<std::string> program;
  std::string directory;  // to run it in; empty: here
  std::string input;      // a file for its standard input
  std::string strategy = "race_directed";
  uint64_t seed = 1, depth = 3, trials = 100, jobs = 0, undisturbed = 5;
  double time_s = 0, timeout_s = 0;
  std::string checker;
  std::vector<std::string> only;
  bool validate = false;  // also by jobs inside the program while it runs freely (lib/validate)
  std::string on;         // "slurm", "slurm:partition": where trials run; empty: here
};

// The command for a checker as the user gave it: a file is meant where there is one of that name;
// else it is a command for the shell (lib/confirm/checker.h).
std::string checker_command(const std::string& checker);

// What was named relative to here, if the program is to run elsewhere.
void settle_paths(TrialOptions& options);

// The program with the runtime's environment; the schedule library must be there.
Result<confirm::Target> make_target(const TrialOptions& options);

// What earlier runs of the program showed.
struct Known {
  double took_s = 0;         // the longest that ended by itself; 0: none did, or there was none
  bool never_ended = false;  // there was one, and it had to be ended
};

// Who is told how a campaign goes; either may be empty.
struct Watcher {
  std::function<void(const confirm::Progress&)> progress;
  std::function<void(const std::string&)> say;
};

// Runs the campaign over `file`, which is written to `path` now and then; adds an origin. Ends
// early when the user stops it (StopSignals).
Result<schedule::Outcome> confirm(model::FindingsFile& file, const TrialOptions& options,
                                  const std::string& path, const std::string& verb,
                                  const TimeBudget& budget, const Known& known,
                                  const Watcher& watcher);

// "findings.json.schedules": where logs of decisions are kept beside the findings.
std::string schedules_folder(const std::string& findings);

// The options that a campaign of `file` was run with, from its origin; none if there was none with
// this key (see campaign_key).
std::optional<TrialOptions> options_of(const model::FindingsFile& file, const std::string& key);

}  // namespace deadheat::pipeline
