// Runs the branches of a recording's races and judges each: harmful, benign, or diverged (RacePro,
// section 6).
//
// First the references: undisturbed runs and serial ones; what occurs in one of them is no failure.
// Then the branches, nearest races first, in parallel, each pinned to one processor. A harmful
// branch is run once more before it is believed: what does not repeat was not the order's doing, or
// not only; it counts as harmful too, but is said to be seen once.
#pragma once

#include <atomic>
#include <functional>
#include <string>
#include <vector>

#include "lib/process/judge/checkers.h"
#include "lib/process/races/branch.h"
#include "lib/process/replay/run.h"

namespace deadheat::process {

enum class BranchVerdict : uint8_t { kHarmful, kBenign, kInfeasible, kUncontrolled };

struct BranchResult {
  Branch branch;
  BranchVerdict verdict = BranchVerdict::kUncontrolled;
  std::string why;  // of a divergence
  std::vector<Difference> differences;
  RunReport run;
  bool ran = false;       // false: no budget was left for it
  bool repeated = false;  // the second run failed in the same way
  std::string folder;     // harmful ones keep theirs: branch.json, and in recording/ the whole
                          // execution, live part too
};

struct ValidateProgress {
  size_t branches = 0, done = 0, harmful = 0, diverged = 0;
  double seconds = 0;
  std::string doing;
};

struct ValidateOptions {
  int undisturbed = 4;
  size_t most_branches = 0;           // 0: all
  double budget_s = 0;                // 0: none
  double timeout_s = 0;               // of one run; 0: ten times the recording, at least 10 s
  int jobs = 0;                       // 0: as many as processors
  std::string work;                   // folder for runs; there already
  std::vector<std::string> checkers;  // shell commands; see user_checker.h for what they are given
  SandboxOptions sandbox;
  std::function<void(const ValidateProgress&)> progress;
  const std::atomic<bool>* stop = nullptr;
};

struct Validation {
  std::vector<BranchResult> results;  // in the order of the races
  Reference reference;
  size_t failed_undisturbed_runs =
      0;                          // the command fails by itself: such failures count for nothing
  size_t failed_serial_runs = 0;  // not part of the reference
  size_t not_run = 0;             // no budget left, or stopped
  std::vector<std::string> problems;
};

Result<Validation> validate(const Recording& recording, const Model& model, const Graph& graph,
                            const ProcessRaces& races, const ValidateOptions& options);

}  // namespace deadheat::process
