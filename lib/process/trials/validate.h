// Runs the branches of a recording's races and judges each: harmful, benign, or diverged (RacePro,
// section 6).
//
// First the references: undisturbed runs and serial ones; what occurs in one of them is no failure.
// Then the branches, nearest races first, in parallel, each pinned to one processor. A harmful
// branch is run once more for its recording, and of each thing that broke one is compared with the
// recorded order before it is believed (trials/comparison.h), at once. With a depth beyond 1, the
// executions of benign branches are looked at again, and their races tried the same way.
//
// When the time is up everything ends: runs are killed, and a failure that was not compared by then
// is counted (not_compared), not reported.
//
// What is done is kept (trials/kept_results.h): a campaign that was stopped goes on.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "lib/base/time_budget.h"
#include "lib/confirm/confirmer.h"
#include "lib/process/trials/drawn_names.h"
#include "lib/process/trials/kept_results.h"
#include "lib/process/trials/looked_at.h"
#include "lib/process/trials/references.h"

namespace deadheat::process::trials {

constexpr size_t kNoResult = ~size_t{0};

// A result as it is kept, with what the campaign knows around it; here `folder` is a whole path.
struct BranchResult : KeptResult {
  races::Branch branch;
  const LookedAt* of = nullptr;  // the recording that it is a branch of
  size_t after = kNoResult;      // depth 2 and more: the result whose execution that is
  // In words, since the executions of benign branches do not stay.
  std::string object;
  std::vector<std::string> calls;

  bool ran = false;    // false: no budget was left for it
  bool taken = false;  // from an earlier campaign
  bool kept = false;   // harmful: its folder has its whole execution
};

struct ValidateOptions {
  int undisturbed = 4;
  int depth = 1;             // how many races are flipped, one after the other
  size_t most_branches = 0;  // 0: all
  TimeBudget time{0};        // of all of it; it runs already
  double timeout_s = 0;      // of one run; 0: ten times the recording, at least 10 s
  int jobs = 0;              // 0: as many as processors
  bool all = false;          // depth: races on terminal output and the like too
  bool restart = false;      // take nothing from an earlier campaign
  std::string tool;          // which build this is; results of others are not taken
  UserCheckers checkers;
  sandbox::SandboxOptions sandbox;
  std::function<void(const confirm::Progress&)> progress;
  std::function<bool()> stopped;  // asked often; may be empty
};

struct Validation {
  std::vector<BranchResult> results;  // in the order of the races; deeper ones after all others
  std::vector<std::unique_ptr<LookedAt>> deeper;  // executions with a harmful branch of their own
  References references;
  DrawnNames drawn;         // of the recording
  size_t not_run = 0;       // no budget left, or stopped
  size_t left_out = 0;      // beyond the most that the user asked for
  size_t not_compared = 0;  // failed; no time was left to see whether it is the order that does it
  size_t not_looked = 0;    // executions whose own races were not looked for, for the same reasons
  bool stopped = false;
  std::vector<std::string> problems;
};

// `looked` outlives what is returned.
Result<Validation> validate(const LookedAt& looked, const ValidateOptions& options);

}  // namespace deadheat::process::trials
