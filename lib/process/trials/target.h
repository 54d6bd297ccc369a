// What is run again and again: a recording with its model, the start state that each run gets, and
// its limits. The one place where such a run is set up, for a campaign and for a single replay.
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

// How long one run may take, of a recording that had to be cut off: each run of it takes its whole
// time, so that is kept short. A little longer than until the last thing happened, and at most a
// tenth of `left_s`; never longer than the recording, nor than `timeout_s` (0: no such wish).
double timeout_of_cut_off(const recording::Recording& recording, double timeout_s, double left_s);

// `timeout_s` 0: ten times the recording, at least 10 s. Refuses what was recorded in place: its
// start state is gone.
Result<Target> make_target(const recording::Recording& recording, const effects::Model& model,
                           const sandbox::SandboxOptions& sandbox, double timeout_s);

// What is not as it was when this was recorded, one line each.
std::vector<std::string> problems_of(const sandbox::CheckpointState& checkpoint);

// A run of the target in `folder`, which is emptied. `processor` -1: wherever there is room.
Result<replay::RunSpec> make_spec(const Target& target, replay::RunKind kind,
                                  const std::string& folder, int processor);

}  // namespace deadheat::process::trials
