// A checker: a command of the user that judges one execution, of threads or of processes.
//
//   CHECKER OUT ERR STATUS STATE
//
// The shell runs the command with these four arguments appended. OUT and ERR are files with the
// program's output, STATUS is its exit status as a shell reports it (128 + number for a signal).
// STATE is a folder: for a recording it contains only the files that the command changed; otherwise
// it is the folder in which the program ran. The checker fails by a non-zero exit status; the first
// line that it prints is the reason.
#pragma once

#include <string>
#include <vector>

#include "lib/base/result.h"
#include "lib/confirm/children.h"
#include "lib/model/evidence.h"

namespace deadheat::confirm {

constexpr double kCheckerSeconds = 60;

// The command to start; `folder` contains "out" and "err".
std::vector<std::string> checker_words(const std::string& checker, const std::string& folder,
                                       int status, const std::string& state);

// Interprets the checker's exit; kNone: it passed. Error: it could not be run.
Result<model::Consequence> checker_consequence(const std::string& checker, int status,
                                               const std::string& out, const std::string& err);

// Runs the checker in this environment, outside any sandbox.
Result<model::Consequence> run_checker(const std::string& checker, const std::string& folder,
                                       const ChildResult& child, const std::string& state);

}  // namespace deadheat::confirm
