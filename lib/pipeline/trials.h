// Confirm: runs a campaign of trials over findings.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "lib/base/result.h"
#include "lib/base/temporary_folder.h"
#include "lib/base/time_budget.h"
#include "lib/confirm/runner.h"
#include "lib/model/finding.h"
#include "lib/schedule/campaign.h"

namespace deadheat::pipeline {

// The verb that starts a worker of a campaign on a cluster; its argument is the shared folder.
inline constexpr char kWorkerVerb[] = "worker";

// Workers on a cluster, and the folder in the current one that they share with us.
struct OnCluster {
  TemporaryFolder folder;
  std::unique_ptr<confirm::Runner> runner;  // ends before its folder goes
  std::string program;                      // this one, as its workers start it
};
// `where`: "slurm" or "slurm:PARTITION".
Result<OnCluster> start_on(const std::string& where, uint64_t workers);
// Where this program lies, for workers on other machines. `proc` runs from a mount or a copy that
// has no name (lib/process/sandbox/own_program.h): then the file that it was started from.
Result<std::string> this_program();

struct TrialOptions {
  std::vector<std::string> program;
  std::string directory;  // working directory; empty: ours
  std::string input;      // file for its standard input
  std::string strategy = "race_directed";
  uint64_t seed = 1, depth = 3, trials = 100, jobs = 0, undisturbed = 5;
  double time_s = 0, timeout_s = 0;
  std::string checker;
  std::vector<std::string> only;
  bool validate = false;  // also run jobs inside the program while it runs freely (lib/validate)
  std::string on;         // where trials run: "slurm", "slurm:partition"; empty: here
};

// The command for the user's checker: the file of that name if there is one, else a shell command
// (lib/confirm/checker.h).
std::string checker_command(const std::string& checker);

// Makes relative paths absolute, if the program is to run in another folder.
void settle_paths(TrialOptions& options);

// The program with the runtime's environment; the schedule library must exist.
Result<confirm::Target> make_target(const TrialOptions& options);

// What earlier runs of the program showed.
struct Known {
  double took_s = 0;         // duration of the longest run that ended by itself; 0: none
  bool never_ended = false;  // there was a run, and it had to be killed
};

// Callbacks for the progress of a campaign; each may be empty.
struct Watcher {
  std::function<void(const confirm::Progress&)> progress;
  std::function<void(const std::string&)> say;
};

// Runs the campaign over `file`, writes it to `path` from time to time, and adds an origin. Ends
// early when the user stops it (StopSignals).
Result<schedule::Outcome> confirm(model::FindingsFile& file, const TrialOptions& options,
                                  const std::string& path, const std::string& verb,
                                  const TimeBudget& budget, const Known& known,
                                  const Watcher& watcher);

// "findings.json.schedules": the folder for decision logs beside the findings.
std::string schedules_folder(const std::string& findings);

// The options of the campaign with this key (see campaign_key), from its origin in `file`; none if
// there is none.
std::optional<TrialOptions> options_of(const model::FindingsFile& file, const std::string& key);

}  // namespace deadheat::pipeline
