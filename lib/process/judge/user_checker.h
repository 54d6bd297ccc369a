// A checker of the user's (lib/confirm/checker.h), run after the command in a sandbox in which the
// files are as the command left them, so that it can look at them under their own names.
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

// kNone: all is well. Error: the checker could not be run, or did not end.
Result<model::Consequence> run_checker(const CheckerRequest& request);

// How to start it beside the command, in the same sandbox; it should end by itself, and its streams
// are the caller's to open.
sandbox::Command beside(const std::vector<std::string>& checker, const sandbox::Command& command);

}  // namespace deadheat::process::judge
