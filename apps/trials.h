// The options of the verbs that run trials.
#pragma once

#include "lib/pipeline/trials.h"
#include "lib/report/report.h"

namespace CLI {
class App;
}

namespace deadheat::apps {

struct TrialOptions : pipeline::TrialOptions {
  bool strict = false;

  report::FailOn fails() const {
    return strict ? report::FailOn::kCandidate : report::FailOn::kRace;
  }
};

void add_trial_options(CLI::App& app, TrialOptions& options);

// Runs a campaign with its status on stderr; see pipeline::confirm().
Result<schedule::Outcome> confirm_findings(model::FindingsFile& file, const TrialOptions& options,
                                           const std::string& path, const std::string& verb,
                                           const TimeBudget& budget, const pipeline::Known& known);

}  // namespace deadheat::apps
