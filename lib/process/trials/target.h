// What is run repeatedly: a recording with its model, the start state of each run, and its limits.
// The only place that sets up such a run, for a campaign and for a single replay.
#pragma once

#include <string>
#include <vector>

#include "lib/process/replay/run.h"
#include "lib/process/sandbox/checkpoint.h"

namespace deadheat::process::trials {

struct Target {
  const recording::Recording* recording = nullptr;
  const effects::Model* model = nullptr;
  sandbox::CheckpointState checkpoint;
  sandbox::SandboxOptions sandbox;
  double timeout_s = 0;  // of one run
  std::shared_ptr<const std::vector<peers::Conversation>> peers;
  std::vector<std::string> beside;   // shell commands that run beside the command
  std::vector<std::string> lasting;  // RunMask::lasting
};

// The time limit of one run, for a recording that had to be cut off: each of its runs takes the
// full time, so it is kept short. Slightly longer than until the last event, and at most a tenth of
// `left_s`; never longer than the recording, nor than `timeout_s` (0: not given).
double timeout_of_cut_off(const recording::Recording& recording, double timeout_s, double left_s);

// `timeout_s` 0: ten times the recording, at least 10 s. Refuses recordings made in place: their
// start state is gone.
Result<Target> make_target(const recording::Recording& recording, const effects::Model& model,
                           const sandbox::SandboxOptions& sandbox, double timeout_s);

// What has changed since the recording, one line each.
std::vector<std::string> problems_of(const sandbox::CheckpointState& checkpoint);

// A run of the target in `folder`, which is emptied. `processor` -1: any.
Result<replay::RunSpec> make_spec(const Target& target, replay::RunKind kind,
                                  const std::string& folder, int processor);

}  // namespace deadheat::process::trials
