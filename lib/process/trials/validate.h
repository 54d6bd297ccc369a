// Runs the branches of a recording's races and judges each: harmful, benign, or diverged (RacePro,
// section 6).
//
// The references come first: undisturbed and serial runs, whose results are not failures. Then the
// branches, nearest races first, in parallel, each pinned to one processor. A harmful branch is run
// once more for its recording. For each consequence, one branch is compared at once with the
// recorded order before it is believed (trials/comparison.h). With a depth beyond 1, the executions
// of benign branches are analysed too, and their races tried in the same way.
//
// When time runs out everything ends: runs are killed, and a failure that was not compared by then
// is counted (not_compared), not reported.
//
// Completed work is stored (trials/kept_results.h): a stopped campaign can be resumed.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "lib/base/time_budget.h"
#include "lib/confirm/confirmer.h"
#include "lib/confirm/runner.h"
#include "lib/process/trials/drawn_names.h"
#include "lib/process/trials/kept_results.h"
#include "lib/process/trials/looked_at.h"
#include "lib/process/trials/references.h"

namespace deadheat::process::trials {

constexpr size_t kNoResult = ~size_t{0};

// A result as stored, with the campaign's context; here `folder` is a whole path.
struct BranchResult : KeptResult {
  races::Branch branch;
  const LookedAt* of = nullptr;  // the recording that it branches from
  size_t after = kNoResult;      // depth 2 and more: the result whose execution it branches from
  // As text, since the executions of benign branches are not kept.
  std::string object;
  std::vector<std::string> calls;

  bool ran = false;    // false: not run within the budget
  bool taken = false;  // from an earlier campaign
  bool kept = false;   // harmful: its folder has its whole execution
};

// Where runs are, if not here: machines of a cluster, on which `command` and the path of an order
// (run_order.h) carries the order out.
struct Elsewhere {
  confirm::Runner* runner = nullptr;
  std::vector<std::string> command;
};

struct ValidateOptions {
  int undisturbed = 4;
  int depth = 1;             // number of races that are flipped, one after the other
  size_t most_branches = 0;  // 0: all
  TimeBudget time{0};        // for everything; already running
  double timeout_s = 0;      // per run; 0: ten times the recording, at least 10 s
  int jobs = 0;              // 0: the number of processors
  bool all = false;          // depth: including races on terminal output and similar
  bool restart = false;      // reuse nothing from an earlier campaign
  std::string tool;          // identifies the build; results of other builds are not reused
  UserCheckers checkers;
  Elsewhere elsewhere;
  sandbox::SandboxOptions sandbox;
  std::function<void(const confirm::Progress&)> progress;
  std::function<bool()> stopped;  // called often; may be empty
};

struct Validation {
  std::vector<BranchResult> results;              // in the order of the races; deeper ones last
  std::vector<std::unique_ptr<LookedAt>> deeper;  // executions with a harmful branch of their own
  References references;
  DrawnNames drawn;         // of the recording
  size_t not_run = 0;       // no budget left, or stopped
  size_t left_out = 0;      // beyond the user's limit
  size_t not_compared = 0;  // failed; no time was left to see whether it is the order that does it
  size_t not_looked = 0;    // executions whose own races were not searched, for the same reasons
  bool stopped = false;
  std::vector<std::string> problems;
};

// `looked` must outlive the result.
Result<Validation> validate(const LookedAt& looked, const ValidateOptions& options);

}  // namespace deadheat::process::trials
