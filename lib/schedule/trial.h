// One trial: its folder, its request, and its result.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "lib/confirm/children.h"
#include "lib/confirm/consequence.h"
#include "lib/confirm/target.h"
#include "lib/live/live_findings.h"
#include "lib/model/finding.h"
#include "lib/schedule/decision_log.h"
#include "lib/schedule/trial_request.h"
#include "lib/symbols/symbolizer.h"

namespace deadheat::schedule {

// Files of one execution inside its folder.
std::string raw_path(const std::string& folder);
std::string decisions_path(const std::string& folder);

// What to start for a trial; writes the request. Without a request, an undisturbed run.
Result<confirm::ChildRequest> prepare(const confirm::Target& target,
                                      const std::optional<TrialRequest>& request,
                                      const std::string& folder, double timeout_s);

struct TrialResult {
  confirm::Observation seen;
  model::FindingsFile races;  // as reported by the runtime, symbolised, in order of arrival
  bool started = false;       // some process reported its start
  std::string divergence;
  model::Access crash;     // its stack, if it crashed
  model::Site crash_site;  // in the user's own code
  std::optional<DecisionLog> log;
  std::vector<live::RawProcess> processes;  // for the places in the log
};

// Reads the files that a trial left in its folder. `execution` names it.
TrialResult collect(const confirm::Target& target, const TrialRequest& request,
                    const confirm::ChildResult& child, const std::string& folder,
                    const std::string& execution, symbols::Symbolizer& symbolizer);

}  // namespace deadheat::schedule
