// The confirmer of threads: which trial comes next, and what its result means for the candidates.
// The engine runs the executions (lib/confirm/engine.h).
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "lib/base/find_program.h"
#include "lib/confirm/engine.h"
#include "lib/schedule/attach.h"
#include "lib/schedule/campaign.h"
#include "lib/schedule/left_to_system.h"
#include "lib/schedule/undisturbed.h"

namespace deadheat::schedule {

struct Attempt {
  size_t finding = 0;  // index into the file
  std::string key;     // of the candidate
  std::vector<RequestedSite> sites;
  std::set<uint64_t> seeds;  // tried, or in progress
  bool gone = false, decided = false;
};

// A running trial.
class TrialExecution : public confirm::Execution {
 public:
  TrialExecution(std::unique_ptr<confirm::ProgramExecution> its_program, size_t its_attempt,
                 TrialRequest its_request)
      : program(std::move(its_program)), attempt(its_attempt), request(std::move(its_request)) {}
  int done_fd() const override { return program->done_fd(); }
  bool ended() override { return program->ended(); }
  void kill() override { program->kill(); }

  const std::unique_ptr<confirm::ProgramExecution> program;
  const size_t attempt;
  const TrialRequest request;
};

class ScheduleConfirmer : public confirm::Confirmer {
 public:
  ScheduleConfirmer(const Options& options, model::FindingsFile& file)
      : options_(options),
        file_(file),
        key_(campaign_key(options)),
        expander_(symbolizer_, find_program(options.target.program.at(0))),
        undisturbed_(options, runner(), symbolizer_) {
    choose();
  }

  Result<std::unique_ptr<confirm::Execution>> start(confirm::Stage stage,
                                                    const confirm::Slot& slot) override;
  Status finish(confirm::Stage stage, confirm::Execution& execution, bool cut_off) override;
  Status learn(confirm::Stage stage) override;
  void describe(confirm::Progress& progress) const override;
  Outcome outcome(const confirm::Engine& engine);

 private:
  confirm::Runner& runner() { return options_.runner != nullptr ? *options_.runner : local_; }

  // A unique name for the execution; it is never parsed.
  std::string execution(const Attempt& attempt, const std::string& last) const {
    return "confirm:" + key_ + "/" + attempt.key + "/" + last;
  }
  // Whether this campaign's trial was directed at the attempt's candidate.
  bool is_of(const model::Evidence& evidence, const Attempt& attempt) const {
    if (!evidence.trial) return false;
    const model::Reproducer& how = evidence.trial->reproducer;
    return how.kind == model::ReproducerKind::kSeed && how.campaign == key_ &&
           how.candidate == attempt.key;
  }
  void name_trial(model::Evidence& evidence, const Attempt& attempt, uint64_t seed) const {
    evidence.execution = evidence.id = execution(attempt, std::to_string(seed));
    if (!evidence.trial) return;
    evidence.trial->reproducer.campaign = key_;
    evidence.trial->reproducer.candidate = attempt.key;
  }
  void say(const std::string& text) const {
    if (options_.say) options_.say(text);
  }

  void choose();
  void expand();
  bool is_decided(const Attempt& attempt) const;
  Attempt* next();
  Result<std::unique_ptr<confirm::Execution>> start_trial(const confirm::Slot& slot);
  Status finish_trial(const TrialExecution& one);
  Result<model::Consequence> judge(const TrialResult& trial, const std::string& folder);
  void keep(Attempt& attempt, Attached attached, const TrialResult& trial,
            const TrialRequest& request, const std::string& folder);
  template <typename Is>
  bool had(const Attempt& attempt, Is is) const;
  void announce(const Attempt& attempt, const model::Evidence& evidence, uint64_t seed) const;
  void keep_log(const Attempt& attempt, const TrialRequest& request, const std::string& folder);
  void keep_failure(const Attempt& attempt, const TrialResult& trial,
                    const model::Evidence& evidence, const TrialRequest& request,
                    const std::string& folder);
  void keep_others(Attempt& attempt, std::vector<model::Finding> others,
                   const TrialRequest& request);
  std::string repeat_command(const Attempt& attempt, uint64_t seed) const;

  const Options& options_;
  model::FindingsFile& file_;
  const std::string key_;
  confirm::LocalRunner local_;
  symbols::Symbolizer symbolizer_;
  places::SiteExpander expander_;
  Undisturbed undisturbed_;
  std::vector<Attempt> attempts_;
  std::map<std::string, uint64_t> others_;
  uint64_t folders_ = 0, trials_ = 0;
  std::string current_;  // the candidate of the last trial, in one line
  LeftToSystem left_;
  uint64_t only_atomic_ = 0, elsewhere_ = 0, not_started_ = 0, logs_lost_ = 0, unresolved_ = 0;
};

}  // namespace deadheat::schedule
