// A checker of the user's: any program or script, run after the command in a sandbox in which the
// files are as the command left them, so that it can look at them under their own names.
//
//   CHECKER... OUT ERR STATUS STATE
//
// OUT and ERR are files with what the command printed, STATUS is as a shell gives it, STATE is the
// folder with the changed files alone. It fails by a status that is not 0; the first line that it
// prints is the reason.
#pragma once

#include <string>
#include <vector>

#include "lib/base/result.h"
#include "lib/model/evidence.h"
#include "lib/process/sandbox/sandbox.h"

namespace deadheat::process {

struct CheckerRequest {
  std::vector<std::string> checker;  // program and arguments
  std::string folder;  // of the run: out, err, upper/; gets checker.out and checker.err
  int status = 0;      // of the command; 128 + number for a signal
  double timeout_s = 60;
  std::string directory;                 // where the command ran
  std::vector<std::string> environment;  // of the command
  SandboxOptions sandbox;                // as for the command
};

// kNone: all is well. Error: the checker could not be run, or did not end.
Result<model::Consequence> run_checker(const CheckerRequest& request);

// What a checker's end means; also for one that ran beside the command.
model::Consequence checker_consequence(int status, const std::string& out, const std::string& err);

// How to start it beside the command, in the same sandbox; it should end by itself, and its streams
// are the caller's to open.
Command beside(const std::vector<std::string>& checker, const Command& command);

}  // namespace deadheat::process
