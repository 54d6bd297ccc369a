// What the verbs that run trials share: how the program is run, the budget, the status line.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "lib/base/result.h"
#include "lib/base/time_budget.h"
#include "lib/campaign/campaign.h"
#include "lib/model/finding.h"
#include "lib/report/report.h"

namespace CLI {
class App;
}

namespace deadheat::apps {

struct TrialOptions {
  std::vector<std::string> program;
  std::string directory;  // to run it in; empty: here
  std::string input;      // a file for its standard input
  std::string strategy = "race_directed";
  uint64_t seed = 1, depth = 3, trials = 100, jobs = 0, undisturbed = 5;
  double time_s = 0, timeout_s = 0;
  std::string checker;
  std::vector<std::string> only;
  bool strict = false;

  report::FailOn fails() const {
    return strict ? report::FailOn::kCandidate : report::FailOn::kRace;
  }
};

void add_trial_options(CLI::App& app, TrialOptions& options);

// What was named relative to here, if the program is to run elsewhere.
void settle_paths(TrialOptions& options);

// The program with the runtime's environment; the schedule library must be there.
Result<campaign::Target> make_target(const TrialOptions& options);

// What earlier runs of the program showed.
struct Known {
  double took_s = 0;         // the longest that ended by itself; 0: none did, or there was none
  bool never_ended = false;  // there was one, and it had to be ended
};

// Runs the campaign over `file`, which is written to `path` now and then; adds an origin. The
// status goes to stderr. `stopped` says whether the user ended it.
Result<campaign::Outcome> confirm_findings(model::FindingsFile& file, const TrialOptions& options,
                                           const std::string& path, const std::string& verb,
                                           const TimeBudget& budget, const Known& known);

// "findings.json.schedules": where logs of decisions are kept beside the findings.
std::string schedules_folder(const std::string& findings);

// The options that a campaign of `file` was run with, from its origin; none if there was none with
// this key (see campaign_key).
std::optional<TrialOptions> options_of(const model::FindingsFile& file, const std::string& key);

// Ctrl-C and the like, while it lives: asks to stop instead of ending us.
class StopSignals {
 public:
  StopSignals();
  ~StopSignals();
  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;
  static bool stopped();
  static bool insists();  // was said more than once

 private:
  struct Before;
  std::unique_ptr<Before> before_;
};

}  // namespace deadheat::apps
