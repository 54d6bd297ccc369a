// Runs of one recording, many at a time: the references, then the branches, each judged when it
// ends.
#pragma once

#include <chrono>
#include <list>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "lib/base/processors.h"
#include "lib/process/campaign/comparison.h"
#include "lib/process/campaign/processor_claims.h"
#include "lib/process/validate.h"

namespace deadheat::process {

// What the campaigns over a recording and over executions of its branches have in common.
struct Budget {
  using Clock = std::chrono::steady_clock;
  explicit Budget(const ValidateOptions& wanted)
      : options(wanted),
        processors(usable_processors(), wanted.jobs > 0 ? static_cast<size_t>(wanted.jobs) : 0) {}

  const ValidateOptions& options;
  Clock::time_point started = Clock::now();
  ProcessorClaims processors;
  ValidateProgress progress;

  // The user wants us to stop, or no time is left: nothing new begins, and what runs is killed.
  bool over() const {
    return options.time.over() || (options.stop != nullptr && options.stop->load());
  }
  void tell(const std::string& doing);
};

class Campaign {
 public:
  // `work` is the folder of the branches; `results` names those of `out` that are this campaign's.
  Campaign(const Target& target, const std::string& work, Budget& budget, Validation& out,
           KeptResults& kept);

  // `key` names what they depend on; kept ones of that key are taken.
  Status run_references(const std::string& key);
  Status run_branches(const std::vector<size_t>& results);

 private:
  // Why a branch is run: to see what it does; a second time, since it failed, for its recording; or
  // to compare it with the recorded order (comparison.h).
  enum class Look : uint8_t { kFirst, kAgain, kChanged, kRecorded };
  // What is to be run: a reference, or a branch.
  struct Job {
    RunKind kind = RunKind::kUndisturbed;
    SerialPolicy policy = SerialPolicy::kChildFirst;
    size_t result = 0;  // kReplay: index in Validation::results
    Look look = Look::kFirst;
  };
  // A branch that ended, judged.
  struct Judged {
    bool followed = false;
    std::vector<Difference> differences;  // that count
    std::vector<Difference> as_undisturbed;
  };
  // What a run showed to the judges.
  struct Shown {
    Outcome outcome;
    CheckerWords words;
  };
  struct Active {
    Job job;
    Run run;
    std::string folder;
    size_t slot = 0;
    int64_t started_ns = 0;
    Budget::Clock::time_point started;
  };

  Status run_all(std::list<Job> jobs);
  void drop(std::list<Job>& jobs);
  Status wait_for_some(std::list<Job>& jobs);
  Branch as_recorded(const Branch& branch) const;
  Status start(const Job& job);
  Status finish(Active& active, std::list<Job>& jobs);
  Status finish_reference(Active& active, const RunReport& report);
  void note_reference(Shown shown, bool serial);
  // What the run showed; nothing if we ended it, or the time was over before it was judged.
  Result<std::optional<Shown>> look_at(const Active& active, const RunReport& report);
  Result<std::optional<Judged>> judge_branch(const Active& active, const RunReport& report);
  Status finish_branch(Active& active, const RunReport& report, std::list<Job>& jobs);
  Status finish_first(Active& active, const RunReport& report, Judged judged, std::list<Job>& jobs);
  void did_not_happen(BranchResult& result, const RunReport& report) const;
  Status finish_again(Active& active, const RunReport& report, const Judged& judged);
  Status finish_compared(Active& active, const Judged& judged, std::list<Job>& jobs);
  Status decided(size_t index, std::list<Job>& jobs);
  void compare(size_t index, std::vector<Difference> failed, bool also_undisturbed,
               std::list<Job>& jobs);
  void compare_if_new(size_t index, std::list<Job>& jobs);
  Status confirm(const std::vector<size_t>& results);
  void leave_open(const std::vector<size_t>& results);
  Status harmful(BranchResult& result, size_t index, bool compared, std::list<Job>& jobs);
  Status benign(BranchResult& result);
  Status forget_folder(BranchResult& result);
  Status keep_recording(const Active& active, const RunReport& report) const;
  Status keep(const BranchResult& result);
  void note_missing_peer(const std::vector<std::string>& peers);
  void forget_unfinished();

  const Target& target_;
  const std::string work_;
  Budget& budget_;
  Validation& out_;
  KeptResults& kept_;
  std::vector<bool> slots_;
  std::list<Active> active_;
  size_t number_ = 0;                         // of the next run's folder
  std::map<size_t, Comparison> comparisons_;  // by result; open ones
  std::set<std::string> compared_;            // what broke: compared, or about to be
  // What broke in a first run -> what of it the comparison has proven.
  std::map<std::string, std::vector<Difference>> proven_;
};

}  // namespace deadheat::process
