// One trial: its folder, what it is asked, and what came of it.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "lib/campaign/children.h"
#include "lib/campaign/consequence.h"
#include "lib/campaign/decision_log.h"
#include "lib/campaign/trial_request.h"
#include "lib/live/live_findings.h"
#include "lib/model/finding.h"
#include "lib/symbols/symbolizer.h"

namespace deadheat::campaign {

// How the program is run, in every trial alike.
struct Target {
  std::vector<std::string> program;
  std::string directory;  // to run in
  std::string input;      // a file for standard input; may be empty
  // The environment for a mode library with these settings: {"schedule", {"raw_path=..."}}.
  std::function<std::map<std::string, std::string>(const std::string& mode,
                                                   const std::vector<std::string>& settings)>
      environment;
};

// Files of one execution within its folder.
std::string raw_path(const std::string& folder);
std::string decisions_path(const std::string& folder);

// What to start for a trial; writes the request. Without one, an undisturbed run.
Result<ChildRequest> prepare(const Target& target, const std::optional<TrialRequest>& request,
                             const std::string& folder, double timeout_s);

struct TrialResult {
  Observation seen;
  model::FindingsFile races;  // as the runtime told them, symbolised, in the order of their coming
  bool started = false;       // some process said so
  std::string divergence;
  model::Access crash;     // its stack, if there was one
  model::Site crash_site;  // in the user's own code
  std::optional<DecisionLog> log;
  std::vector<live::RawProcess> processes;  // for the places in the log
};

// Reads what a trial left in its folder. `execution` names it.
TrialResult collect(const Target& target, const TrialRequest& request, const ChildResult& child,
                    const std::string& folder, const std::string& execution,
                    symbols::Symbolizer& symbolizer);

}  // namespace deadheat::campaign
