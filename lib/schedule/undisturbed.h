// The program's behaviour without interference: some ordinary runs, and a serial one under the
// scheduler, which also shows whether that works in this program at all.
#pragma once

#include <memory>

#include "lib/base/result.h"
#include "lib/confirm/consequence.h"
#include "lib/confirm/runner.h"
#include "lib/schedule/campaign.h"
#include "lib/schedule/trial_request.h"
#include "lib/symbols/symbolizer.h"

namespace deadheat::schedule {

class Undisturbed {
 public:
  Undisturbed(const Options& options, confirm::Runner& runner, symbols::Symbolizer& symbolizer);

  // The stages of a confirmer (lib/confirm/confirmer.h).
  Result<std::unique_ptr<confirm::Execution>> start();
  void finish(const confirm::ProgramExecution& run);
  Result<std::unique_ptr<confirm::Execution>> start_serial();
  Status finish_serial(const confirm::ProgramExecution& run);
  void end();  // both are done

  const confirm::Baseline& baseline() const { return baseline_; }
  double timeout_s() const { return timeout_s_; }  // for trials
  uint64_t length() const { return length_; }      // decisions of the serial run, for pct
  bool spins() const { return spins_; }            // the serial run spun: see TrialRequest
  const std::vector<std::string>& problems() const { return problems_; }

 private:
  double first_timeout_s() const;
  Result<std::unique_ptr<confirm::Execution>> run(const std::optional<TrialRequest>& request,
                                                  const std::string& name);
  Error not_scheduled(const std::string& folder) const;

  const Options& options_;
  confirm::Runner& runner_;
  symbols::Symbolizer& symbolizer_;
  confirm::Baseline baseline_;
  TrialRequest serial_;
  bool serial_started_ = false;
  uint64_t left_ = 0;
  size_t hung_ = 0;
  double timeout_s_ = 0;
  uint64_t length_ = 0;
  bool spins_ = false;
  std::vector<std::string> problems_;
};

}  // namespace deadheat::schedule
