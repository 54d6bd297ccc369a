// What the program does when nobody interferes: some runs as they come, and a serial one under the
// scheduler, which also shows whether that works in this program at all.
#pragma once

#include <functional>

#include "lib/base/result.h"
#include "lib/campaign/campaign.h"
#include "lib/campaign/children.h"
#include "lib/campaign/consequence.h"

namespace deadheat::campaign {

struct Undisturbed {
  Baseline baseline;
  double timeout_s = 0;  // for trials
  uint64_t length = 0;   // decisions of the serial run, for pct
  bool spins = false;    // the serial run was seen to: see TrialRequest
  std::vector<std::string> problems;
};

Result<Undisturbed> learn_undisturbed(const Options& options, Children& children,
                                      symbols::Symbolizer& symbolizer,
                                      const std::function<bool()>& stopped,
                                      const std::function<void()>& show);

}  // namespace deadheat::campaign
