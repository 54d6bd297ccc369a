// Runs a user's checker (lib/confirm/checker.h) after the command, in a sandbox that shows the
// files as the command left them, under their own names.
#pragma once

#include <string>
#include <vector>

#include "lib/base/result.h"
#include "lib/confirm/checker.h"
#include "lib/model/evidence.h"
#include "lib/process/sandbox/sandbox.h"

namespace deadheat::process::judge {

struct CheckerRequest {
  std::string checker;  // for the shell
  std::string folder;   // of the run: out, err, upper/; gets checker.out and checker.err
  int status = 0;       // of the command; 128 + number for a signal
  double timeout_s = confirm::kCheckerSeconds;
  std::string directory;                 // where the command ran
  std::vector<std::string> environment;  // of the command
  sandbox::SandboxOptions sandbox;       // as for the command
};

// kNone: the checker succeeded. Error: it could not be run, or did not end.
Result<model::Consequence> run_checker(const CheckerRequest& request);

// How to run a checker beside the command in the same sandbox. It should end by itself; the caller
// opens its streams.
sandbox::Command beside(const std::vector<std::string>& checker, const sandbox::Command& command);

}  // namespace deadheat::process::judge
