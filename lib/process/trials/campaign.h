// The confirmer of processes: runs of one recording. First the references, then the branches; each
// run is judged when it ends.
#pragma once

#include <list>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "lib/confirm/engine.h"
#include "lib/process/trials/comparison.h"
#include "lib/process/trials/validate.h"

namespace deadheat::process::trials {

class Campaign : public confirm::Confirmer {
 public:
  // `work` is the folder of the branches.
  Campaign(const Target& target, const std::string& work, const ValidateOptions& options,
           confirm::Engine& engine, confirm::Progress& counted, Validation& out, KeptResults& kept);

  // `key` identifies what they depend on; stored references with that key are reused.
  Status run_references(const std::string& key);
  Status run_branches(const std::vector<size_t>& results);

  Result<std::unique_ptr<confirm::Execution>> start(confirm::Stage stage,
                                                    const confirm::Slot& slot) override;
  Status finish(confirm::Stage stage, confirm::Execution& execution, bool cut_off) override;
  void describe(confirm::Progress& progress) const override;

 private:
  // Why a branch is run: to see its effect; a second time because it failed, for its recording; or
  // to compare it with the recorded order (comparison.h).
  enum class Look : uint8_t { kFirst, kAgain, kChanged, kRecorded };
  // A pending run: a reference or a branch.
  struct Job {
    replay::RunKind kind = replay::RunKind::kUndisturbed;
    replay::SerialPolicy policy = replay::SerialPolicy::kChildFirst;
    size_t result = 0;  // kReplay: index in Validation::results
    Look look = Look::kFirst;
  };
  // A finished branch and its judgement.
  struct Judged {
    bool followed = false;
    std::vector<judge::Difference> differences;  // those that count
    std::vector<judge::Difference> as_undisturbed;
  };
  // The judges' view of a run.
  struct Shown {
    judge::Outcome outcome;
    CheckerWords words;
  };
  class Active;
  class Here;
  class Elsewhere;

  Result<std::unique_ptr<confirm::Execution>> start_here(const Job& job, const std::string& folder,
                                                         int processor);
  Result<std::unique_ptr<confirm::Execution>> start_elsewhere(const Job& job,
                                                              const std::string& folder);
  races::Branch branch_of(const Job& job) const;
  // Whether its execution is wanted as a recording, and where.
  bool keeps(const Job& job) const;
  std::string recording_of(const Job& job, const std::string& folder) const;
  Status run_all(confirm::Stage stage);
  races::Branch as_recorded(const races::Branch& branch) const;
  Status finish_reference(Active& active, const replay::RunReport& report);
  void note_reference(Shown shown, bool serial);
  // The run's result; nothing if we ended it, or if time ran out before it was judged.
  Result<std::optional<Shown>> look_at(const Active& active, const replay::RunReport& report);
  Result<std::optional<Judged>> judge_branch(const Active& active, const replay::RunReport& report);
  Status finish_branch(Active& active, const replay::RunReport& report);
  Status finish_first(Active& active, const replay::RunReport& report, Judged judged);
  void did_not_happen(BranchResult& result, const replay::RunReport& report) const;
  Status finish_again(Active& active, const replay::RunReport& report, const Judged& judged);
  Status finish_compared(Active& active, const Judged& judged);
  Status decided(size_t index);
  void compare(size_t index, std::vector<judge::Difference> failed, bool also_undisturbed);
  void compare_if_new(size_t index);
  Status compare_rest(const std::vector<size_t>& results);
  void leave_open(const std::vector<size_t>& results);
  Status harmful(BranchResult& result, size_t index, bool compared);
  Status benign(BranchResult& result);
  Status forget_folder(BranchResult& result);
  Status keep_recording(Active& active, const replay::RunReport& report) const;
  Status keep(const BranchResult& result);
  void note_missing_peer(const std::vector<std::string>& peers);
  void forget_unfinished();

  const Target& target_;
  const std::string work_;
  const ValidateOptions& options_;
  confirm::Engine& engine_;
  Validation& out_;
  KeptResults& kept_;
  std::list<Job> jobs_;                       // waiting for a slot
  confirm::Progress& counted_;                // over all campaigns of the recording
  size_t number_ = 0;                         // of the next run's folder
  std::map<size_t, Comparison> comparisons_;  // by result; open ones
  std::set<std::string> compared_;            // sets of differences compared, or about to be
  // The differences in a first run -> those that the comparison has proven.
  std::map<std::string, std::vector<judge::Difference>> proven_;
};

}  // namespace deadheat::process::trials
